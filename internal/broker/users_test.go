package broker

import (
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"broker/internal/config"
)

const noAuth = "-NOAUTH Authentication required."

func TestRequirePass_AtStartAndAtRunTime(t *testing.T) {
	b := start(t, func(c *config.Config) { c.RequirePass = "first" })
	early := dial(t, b.Addrs()[0])
	early.do("PUBLISH news x", noAuth)
	early.do("AUTH first", "+OK")
	early.set("requirepass second word", "+OK")
	early.do("PING", "+PONG")

	c := dial(t, b.Addrs()[0])
	c.do("AUTH first", "-WRONGPASS invalid username-password pair or user is disabled.")
	c.do(`AUTH "second word"`, "+OK")
	if got := c.value("requirepass"); got != "second word" {
		t.Errorf("CONFIG GET requirepass says %q", got)
	}
	c.set("requirepass ", "+OK")
	dial(t, b.Addrs()[0]).do("PUBLISH news x", ":0")
}

// A change that fails leaves the password as it was.
func TestRequirePass_OfAChangeThatFails(t *testing.T) {
	b := start(t, nil)
	c := dial(t, b.Addrs()[0])
	c.set("requirepass secret|bind 192.0.2.1", failed("bind", "Failed to bind to specified addresses."))
	dial(t, b.Addrs()[0]).do("PING", "+PONG")
}

func TestUsers_OfTheConfiguration(t *testing.T) {
	b, path := startWithFile(t, "bind 127.0.0.1\nuser alice on >wonderland resetchannels &rabbit +@all\nacl-pubsub-default allchannels\n")
	c := dial(t, b.Addrs()[0])
	c.do("AUTH alice wonderland", "+OK")
	c.do("PUBLISH hatter x", "-NOPERM No permissions to access a channel")
	c.do("PUBLISH rabbit x", ":0")
	c.do("ACL SETUSER bob on nopass +ping", "+OK")
	c.do("CONFIG REWRITE", "+OK")
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"\nuser alice on ", "\nuser bob on nopass ", " &* ", "\nuser default on nopass "} {
		if !strings.Contains(string(text), want) {
			t.Errorf("the rewritten file has no %q:\n%s", want, text)
		}
	}
	if strings.Contains(string(text), "wonderland") {
		t.Errorf("the rewritten file shows a password:\n%s", text)
	}
	again, err := config.Load([]string{path})
	if err != nil {
		t.Fatal(err)
	}
	again.Port = config.AnyPort
	other := start(t, func(c *config.Config) { *c = again })
	c = dial(t, other.Addrs()[0])
	c.do("AUTH alice wonderland", "+OK")
	c.do("PUBLISH hatter x", "-NOPERM No permissions to access a channel")
}

func TestUsers_OfAnACLFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "users.acl")
	if err := os.WriteFile(path, []byte("user alice on >wonderland allchannels +@all\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	b := start(t, func(c *config.Config) { c.ACLFile = path })
	c := dial(t, b.Addrs()[0])
	c.do("AUTH alice wonderland", "+OK")
	c.do("ACL SETUSER bob on", "+OK")
	c.do("ACL SAVE", "+OK")
	if text, err := os.ReadFile(path); err != nil || !strings.Contains(string(text), "user bob on") {
		t.Errorf("the file holds %q, %v", text, err)
	}
}

// A broker does not start with fewer rules than it was given.
func TestUsers_ErrorsEndTheStart(t *testing.T) {
	path := filepath.Join(t.TempDir(), "users.acl")
	if err := os.WriteFile(path, []byte("user alice on >wonderland\nuser bob +nonsense\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		change func(*config.Config)
		want   string
	}{
		"both":         {func(c *config.Config) { c.ACLFile, c.Users = path, [][]string{{"alice"}} }, "but not both."},
		"no file":      {func(c *config.Config) { c.ACLFile = path + "x" }, "opening file"},
		"line of file": {func(c *config.Config) { c.ACLFile = path }, ":2: "},
		"line":         {func(c *config.Config) { c.Users = [][]string{{"bob", "+nonsense"}} }, "Unknown command or category name in ACL"},
		"twice":        {func(c *config.Config) { c.Users = [][]string{{"bob"}, {"bob"}} }, "Duplicate user found"},
	} {
		t.Run(name, func(t *testing.T) {
			cfg := config.Default()
			cfg.Bind, cfg.Port = []string{"127.0.0.1"}, config.AnyPort
			tc.change(&cfg)
			_, err := Start(cfg, slog.New(slog.DiscardHandler))
			if err == nil || !strings.Contains(err.Error(), tc.want) || strings.Contains(err.Error(), "wonderland") {
				t.Errorf("error %v, want one with %q", err, tc.want)
			}
			if checked := Check(&cfg); checked == nil || err == nil || checked.Error() != err.Error() {
				t.Errorf("Check says %v, Start %v", checked, err)
			}
		})
	}
}
