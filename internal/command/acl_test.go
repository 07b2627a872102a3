package command

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"broker/shard"
)

func TestPermissions_DecideBeforeTheCommandRuns(t *testing.T) {
	srv := withRuntime(startServer(t, 1), Runtime{})
	srv.setUser("bob on >pw +publish +subscribe +psubscribe +ssubscribe +spublish +unsubscribe +multi +exec +client|id +hello &a* &q\\*")
	c := srv.dial()
	converse(t, c, []turn{
		{"AUTH bob pw", ok},
		{"PING", noPerm("bob", "ping")},
		{"FOO", e("unknown command 'FOO', with args beginning with: ")},
		{"PING a b c", noPerm("bob", "ping")},
		{"PUBLISH a", arity("publish")},
		{"PUBSUB NUMSUB", noPerm("bob", "pubsub|numsub")},
		{"CLIENT ID", ":1\r\n"},
		{"CLIENT INFO", noPerm("bob", "client|info")},
		{"CLIENT", arity("client")},
		{"PUBLISH ab m", ":0\r\n"},
		{"PUBLISH b m", noChannel},
		{"SPUBLISH b m", noChannel},
		{"SPUBLISH ax m", ":0\r\n"},
		{"SUBSCRIBE ax bx ay", noChannel}, // all or nothing
		{"PSUBSCRIBE a", noChannel},
		{"PSUBSCRIBE ab*", noChannel},
		{"UNSUBSCRIBE b", "*3\r\n" + bulk("unsubscribe") + bulk("b") + ":0\r\n"},
		{"PUNSUBSCRIBE b", noPerm("bob", "punsubscribe")},
		{"AUTH bob wrong", wrongPass},
		{"PSUBSCRIBE a*", "*3\r\n" + bulk("psubscribe") + bulk("a*") + ":1\r\n"},
		{`PSUBSCRIBE q\*`, "*3\r\n" + bulk("psubscribe") + bulk(`q\*`) + ":2\r\n"},
		{"SSUBSCRIBE abc", "*3\r\n" + bulk("ssubscribe") + bulk("abc") + ":1\r\n"},
		// In subscriber mode permission comes first.
		{"PING", noPerm("bob", "ping")},
		{"PUBLISH ab m", e("Can't execute 'publish': only (P|S)SUBSCRIBE / (P|S)UNSUBSCRIBE / PING / QUIT / RESET are allowed in this context")},
		{"RESET", "+RESET\r\n"},
		{"PING", "+PONG\r\n"},
	})
	_, got := fields(t, text(t, c.do("INFO", "everything")))
	for name, want := range map[string]string{
		"acl_access_denied_auth": "1", "acl_access_denied_cmd": "6", "acl_access_denied_channel": "5", "acl_access_denied_key": "0",
		"errorstat_NOPERM": "count=11", "errorstat_WRONGPASS": "count=1",
		"cmdstat_publish": "calls=1,rejected_calls=3,failed_calls=0",
	} {
		have := got[name]
		if calls, rest, cut := strings.Cut(have, ",usec="); cut {
			_, rest, _ = strings.Cut(rest, ",rejected")
			have = calls + ",rejected" + rest
		}
		if have != want {
			t.Errorf("%s:%s, want %s", name, have, want)
		}
	}
}

// Every command of the table is refused to a user without permissions and
// allowed to one who has that command only.
func TestPermissions_CoverEveryCommand(t *testing.T) {
	srv := withRuntime(startServer(t, 1), Runtime{})
	admin := srv.dial()
	admin.do("ACL", "SETUSER", "none", "on", "nopass")
	for _, cmd := range newTable().rows {
		if cmd.run == nil || cmd.restricted { // DEBUG is refused to everybody
			continue
		}
		words := strings.Split(cmd.fullName, "|")
		for len(words) < max(cmd.arity, -cmd.arity) {
			words = append(words, "1")
		}
		admin.do("ACL", "SETUSER", "one", "reset", "on", "nopass", "+"+cmd.fullName)
		dry := func(user string) string {
			return admin.do(append([]string{"ACL", "DRYRUN", user}, words...)...)
		}
		refused := bulk("User none has no permissions to run the '" + cmd.fullName + "' command")
		if cmd.flags&flagNoAuth != 0 {
			refused = ok
		}
		if got := dry("none"); got != refused {
			t.Errorf("%q without permission: %q", words, got)
		}
		allowed := ok
		if cmd.channels != noChannels {
			allowed = bulk("User one has no permissions to access the '1' channel")
		}
		if got := dry("one"); got != allowed {
			t.Errorf("%q with permission: %q", words, got)
		}
		if cmd.flags&flagNoAuth == 0 {
			c := srv.login("none", "x")
			if got := c.do(words...); got != noPerm("none", cmd.fullName) {
				t.Errorf("%q: %q", words, got)
			}
			_ = c.conn.Close()
		}
	}
}

// Every channel of a command counts, wherever it stands.
func TestPermissions_CoverEveryArgument(t *testing.T) {
	srv := startServer(t, 1)
	srv.setUser("bob on nopass +@pubsub &a")
	for _, cmd := range pubsubCommands() {
		if cmd.channels == noChannels {
			continue
		}
		n := 1
		if cmd.channels != firstChannel {
			n = 5
		}
		for bad := -1; bad < n; bad++ {
			words := []string{cmd.name}
			for i := range n {
				words = append(words, []string{"a", "b"}[b2i(i == bad)])
			}
			if cmd.channels == firstChannel {
				words = append(words, "b") // the message
			}
			c := srv.login("bob", "x")
			got := c.do(words...)
			if refused := got == noChannel; refused != (bad >= 0) {
				t.Errorf("%q: %q", words, got)
			}
			_ = c.conn.Close()
		}
	}
}

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}

func TestPermissions_FirstArguments(t *testing.T) {
	srv := startServer(t, 1)
	srv.setUser("bob on nopass +select|1 (+ping) (+publish &x) (+select|2)")
	converse(t, srv.dial(), []turn{
		{"AUTH bob x", ok}, {"SELECT 1", ok}, {"SELECT 2", ok}, {"SELECT 0", noPerm("bob", "select")}, {"PING", "+PONG\r\n"},
		{"PUBLISH x m", ":0\r\n"}, {"PUBLISH y m", noChannel}, {"ECHO x", noPerm("bob", "echo")},
	})
}

func TestPermissions_InsideATransaction(t *testing.T) {
	srv := withRuntime(startServer(t, 2), Runtime{})
	srv.setUser("bob on nopass +multi +exec +publish +ping &a &b")
	admin, c := srv.dial(), srv.dial()
	converse(t, c, []turn{
		{"AUTH bob x", ok},
		{"MULTI", ok}, {"ECHO x", noPerm("bob", "echo")}, {"PING", "+QUEUED\r\n"},
		{"EXEC", "-EXECABORT Transaction discarded because of previous errors.\r\n"},
		{"MULTI", ok}, {"PUBLISH c m", noChannel}, {"EXEC", "-EXECABORT Transaction discarded because of previous errors.\r\n"},
		{"MULTI", ok}, {"PUBLISH a m", "+QUEUED\r\n"}, {"PUBLISH b m", "+QUEUED\r\n"}, {"PING", "+QUEUED\r\n"},
	})
	converse(t, admin, []turn{{"ACL SETUSER bob resetchannels &b -ping", ok}})
	const changed = "-NOPERM ACLs rules changed between the moment the transaction was accumulated and the EXEC call. " +
		"This command is no longer allowed for the following reason: "
	converse(t, c, []turn{{"EXEC", "*3\r\n" + changed + "no permission to access one of the channels used as arguments to the command\r\n" +
		":0\r\n" + changed + "no permission to execute the command or subcommand\r\n"}})
	var log []string
	for _, v := range decode(t, admin.do("ACL", "LOG")).([]value) {
		m := v.([]value)
		log = append(log, fmt.Sprint(m[3], " ", m[5], " ", m[7], " ", m[9]))
	}
	want := []string{"command multi ping bob", "channel multi a bob", "channel multi c bob", "command multi echo bob"}
	if !slices.Equal(log, want) {
		t.Errorf("log %q, want %q", log, want)
	}
}

// A user without restrictions costs nothing to check: his sessions carry no
// mark, and get one with the change that restricts him.
func TestPermissions_MarkRestrictedSessionsOnly(t *testing.T) {
	srv := withRuntime(startServer(t, 2), Runtime{RequirePass: "x"})
	admin := srv.login("default", "x")
	c, d := srv.login("default", "x"), srv.dial()
	srv.setUser("bob on nopass +@all &*")
	d.do("AUTH", "bob", "x")
	var markedSessions atomic.Int64
	marked := func() int {
		srv.group.Each(func(l *shard.Loop) {
			l.Sessions(func(s *shard.Session) bool {
				if s.Marked() {
					markedSessions.Add(1)
				}
				return true
			})
		})
		return int(markedSessions.Swap(0))
	}
	if n := marked(); n != 0 {
		t.Errorf("%d marked sessions of users who may do everything", n)
	}
	converse(t, admin, []turn{{"ACL SETUSER bob -ping", ok}})
	if n := marked(); n != 1 {
		t.Errorf("%d marked sessions, want 1", n)
	}
	converse(t, d, []turn{{"PING", noPerm("bob", "ping")}})
	converse(t, admin, []turn{{"ACL SETUSER bob +@all", ok}, {"ACL SETUSER default -echo", ok}})
	if n := marked(); n != 2 {
		t.Errorf("%d marked sessions, want 2", n)
	}
	converse(t, c, []turn{{"ECHO x", noPerm("default", "echo")}})
	converse(t, d, []turn{{"ECHO x", bulk("x")}})
	converse(t, c, []turn{{"ACL SETUSER default +echo", ok}})
	if n := marked(); n != 0 {
		t.Errorf("%d marked sessions, want none", n)
	}
	converse(t, srv.dial(), []turn{{"PING", noAuth}})
}

func TestPermissions_CheckDoesNotAllocate(t *testing.T) {
	srv := startServer(t, 1)
	srv.setUser("bob on nopass +publish &news.*")
	c := srv.login("bob", "x")
	var n float64
	srv.group.Each(func(l *shard.Loop) {
		l.Sessions(func(s *shard.Session) bool {
			args := [][]byte{[]byte("PUBLISH"), []byte("news." + strings.Repeat("x", 100)), []byte("m")}
			n = testing.AllocsPerRun(100, func() { srv.d.Handle(s, args) })
			return false
		})
	})
	for range 101 {
		c.read()
	}
	if n > 1 {
		t.Errorf("%v allocations per checked command", n)
	}
}

func TestACLSetUser_Replies(t *testing.T) {
	srv := startServer(t, 2)
	converse(t, srv.dial(), []turn{
		{"ACL SETUSER bob on >pw +@all -foo", e("Error in ACL SETUSER modifier '-foo': Unknown command or category name in ACL")},
		{"ACL GETUSER bob", "$-1\r\n"},
		{"ACL SETUSER bob (+get", e("Unmatched parenthesis in acl selector starting at '(+get'.")},
		{`ACL SETUSER "a\x20b"`, e("Usernames can't contain spaces or null characters")},
		{"ACL SETUSER bob +@all &a &*", ok},
		{"ACL SETUSER bob &x", e("Error in ACL SETUSER modifier '&x': Adding a pattern after the * pattern (or the 'allchannels' flag) is not valid and does not have any effect. Try 'resetchannels' to start with an empty list of channels")},
		{"ACL SETUSER bob on >pw resetchannels &a %R~k (+get ~x)", ok},
		{"ACL LIST", "*2\r\n" +
			bulk("user bob on sanitize-payload #30c952fab122c3f9759f02a6d95c3758b246b4fee239957b2d4fee46e26170c4 %R~k resetchannels &a +@all (~x resetchannels -@all +get)") +
			bulk("user default on nopass sanitize-payload ~* &* +@all")},
		{"ACL USERS", "*2\r\n" + bulk("bob") + bulk("default")},
		{"ACL GETUSER bob", "*12\r\n" + bulk("flags") + "*2\r\n" + bulk("on") + bulk("sanitize-payload") +
			bulk("passwords") + "*1\r\n" + bulk("30c952fab122c3f9759f02a6d95c3758b246b4fee239957b2d4fee46e26170c4") +
			bulk("commands") + bulk("+@all") + bulk("keys") + bulk("%R~k") + bulk("channels") + bulk("&a") +
			bulk("selectors") + "*1\r\n*6\r\n" + bulk("commands") + bulk("-@all +get") + bulk("keys") + bulk("~x") + bulk("channels") + bulk("")},
		{"ACL DELUSER bob nobody bob", ":1\r\n"},
		{"ACL DELUSER default", e("The 'default' user cannot be removed")},
		{"ACL USERS", "*1\r\n" + bulk("default")},
	})
	c3 := srv.login("default", "")
	converse(t, c3, []turn{
		{"ACL GETUSER default", "%6\r\n" + bulk("flags") + "~3\r\n" + bulk("on") + bulk("nopass") + bulk("sanitize-payload") +
			bulk("passwords") + "*0\r\n" + bulk("commands") + bulk("+@all") + bulk("keys") + bulk("~*") + bulk("channels") + bulk("&*") +
			bulk("selectors") + "*0\r\n"},
		{"ACL GETUSER bob", "_\r\n"},
	})
}

func TestACLDryRun(t *testing.T) {
	srv := startServer(t, 1)
	srv.setUser("bob +publish +config|get &a*")
	converse(t, srv.dial(), []turn{
		{"ACL DRYRUN nobody PING", e("User 'nobody' not found")},
		{"ACL DRYRUN bob FOO", e("Command 'FOO' not found")},
		{"ACL DRYRUN bob CONFIG FOO", e("Command 'CONFIG' not found")},
		{"ACL DRYRUN bob CONFIG", arity("config")},
		{"ACL DRYRUN bob PUBLISH a", arity("publish")},
		{"ACL DRYRUN bob PUBLISH a b", ok},
		{"ACL DRYRUN bob CONFIG GET x", ok},
		{"ACL DRYRUN bob PUBLISH b c", bulk("User bob has no permissions to access the 'b' channel")},
		{"ACL DRYRUN bob CONFIG SET x y", bulk("User bob has no permissions to run the 'config|set' command")},
		{"ACL DRYRUN bob AUTH x", ok},
	})
}

func TestACL_SmallCommands(t *testing.T) {
	srv := startServer(t, 1)
	c := srv.dial()
	converse(t, c, []turn{
		{"ACL CAT a b", e("unknown subcommand or wrong number of arguments for 'CAT'. Try ACL HELP.")},
		{"ACL CAT foo", e("Unknown category 'foo'")},
		{"ACL GENPASS 0", "-" + errPasswordBits + "\r\n"},
		{"ACL GENPASS 4097", "-" + errPasswordBits + "\r\n"},
		{"ACL GENPASS x", e("value is not an integer or out of range")},
		{"ACL GENPASS 1 2", e("unknown subcommand or wrong number of arguments for 'GENPASS'. Try ACL HELP.")},
		{"ACL LOG x", e("value is not an integer or out of range")},
		{"ACL LOG 1 2", e("unknown subcommand or wrong number of arguments for 'LOG'. Try ACL HELP.")},
		{"ACL LOG -5", "*0\r\n"},
		{"ACL WHOAMI x", arity("acl|whoami")},
		{"ACL FOO", e("unknown subcommand 'FOO'. Try ACL HELP.")},
		{"ACL LOAD", "-" + errNoACLFile + "\r\n"},
		{"ACL SAVE", "-" + errNoACLFile + "\r\n"},
	})
	if got := words(t, c.do("ACL", "CAT")); len(got) != 21 || got[0] != "keyspace" {
		t.Errorf("categories %q", got)
	}
	for _, category := range []string{"pubsub", "Admin"} {
		got := words(t, c.do("ACL", "CAT", category))
		if want := words(t, c.do("COMMAND", "LIST", "FILTERBY", "ACLCAT", category)); !slices.Equal(got, want) {
			t.Errorf("ACL CAT %s %q, want %q", category, got, want)
		}
	}
	if got := words(t, c.do("ACL", "CAT", "geo")); len(got) != 0 {
		t.Errorf("ACL CAT geo %q", got)
	}
	if got := text(t, c.do("ACL", "GENPASS")); len(got) != 64 {
		t.Errorf("ACL GENPASS %q", got)
	}
	if got := text(t, c.do("ACL", "GENPASS", "5")); len(got) != 2 {
		t.Errorf("ACL GENPASS 5 %q", got)
	}
}

func TestACLLog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv := withRuntime(startServer(t, 1), Runtime{ACLLogLen: 2})
		srv.setUser("bob on >pw +publish &a")
		admin, c := srv.dial(), srv.dial()
		converse(t, c, []turn{{"AUTH bob pw", ok}, {"PUBLISH b m", noChannel}})
		created := time.Now().UnixMilli()
		time.Sleep(1500 * time.Millisecond)
		converse(t, c, []turn{{"PUBLISH b m", noChannel}})
		updated := time.Now().UnixMilli()
		time.Sleep(250 * time.Millisecond)
		entry := decode(t, admin.do("ACL", "LOG")).([]value)[0].([]value)
		want := []value{
			"count", int64(2), "reason", "channel", "context", "toplevel", "object", "b", "username", "bob", "age-seconds", "0.25",
			"client-info", entry[13], "entry-id", int64(0), "timestamp-created", created, "timestamp-last-updated", updated,
		}
		if !slices.Equal(entry, want) {
			t.Errorf("entry %v, want %v", entry, want)
		}
		if info := entry[13].(string); !strings.HasPrefix(info, "id=2 addr=pipe ") || !strings.Contains(info, " cmd=publish user=bob ") || strings.Contains(info, "\n") {
			t.Errorf("client-info %q", info)
		}
		converse(t, c, []turn{{"PING", noPerm("bob", "ping")}, {"auth eve secret", wrongPass}, {"HELLO 3 AUTH eve secret", wrongPass}})
		var log []string
		for _, v := range decode(t, admin.do("ACL", "LOG", "10")).([]value) {
			m := v.([]value)
			log = append(log, fmt.Sprint(m[3], " ", m[5], " ", m[7], " ", m[9], " ", m[15]))
		}
		if want := []string{"auth toplevel HELLO eve 3", "auth toplevel auth eve 2"}; !slices.Equal(log, want) {
			t.Errorf("log %q, want %q", log, want)
		}
		if got := decode(t, admin.do("ACL", "LOG", "1")).([]value); len(got) != 1 {
			t.Errorf("ACL LOG 1: %v", got)
		}
		if text := admin.do("ACL", "LOG", "100"); strings.Contains(text, "secret") {
			t.Errorf("the log shows a password: %q", text)
		}
		converse(t, admin, []turn{{"ACL LOG RESET", ok}, {"ACL LOG", "*0\r\n"}})
		srv.d.Configure(Runtime{})
		converse(t, c, []turn{{"PING", noPerm("bob", "ping")}})
		converse(t, admin, []turn{{"ACL LOG", "*0\r\n"}})
	})
}

func TestACLFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "users.acl")
	srv := startServer(t, 2, func(c *Config) { c.ACLFile = path })
	admin, bob, eve := srv.dial(), srv.dial(), srv.dial()
	converse(t, admin, []turn{
		{"ACL LOAD", e("Error loading ACLs, opening file '" + path + "': No such file or directory")},
		{"ACL SETUSER bob on nopass +@all &a* &b*", ok}, {"ACL SETUSER eve on nopass +@all &*", ok}, {"ACL SAVE", ok},
	})
	saved, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	want := "user bob on nopass sanitize-payload resetchannels &a* &b* +@all\nuser default on nopass sanitize-payload ~* &* +@all\n" +
		"user eve on nopass sanitize-payload &* +@all\n"
	if string(saved) != want {
		t.Errorf("saved %q, want %q", saved, want)
	}
	bob.do("HELLO", "3", "AUTH", "bob", "x")
	eve.do("HELLO", "3", "AUTH", "eve", "x")
	bob.do("SUBSCRIBE", "a1")
	converse(t, admin, []turn{{"ACL LOAD", ok}})
	bob.do("PSUBSCRIBE", "b*")
	write := func(text string) {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("user bob on nopass +@all &b* &a*\nuser new on nopass +foo\n")
	if got := admin.do("ACL", "LOAD"); !strings.HasPrefix(got, "-ERR "+path+":2: Error in applying operation '+foo': Unknown command or category name in ACL. WARNING: ACL errors detected") {
		t.Errorf("got %q", got)
	}
	converse(t, eve, []turn{{"ACL WHOAMI", bulk("eve")}})
	write("user bob on nopass +@all -echo &b* &a*\n")
	converse(t, admin, []turn{{"ACL LOAD", ok}, {"ACL USERS", "*2\r\n" + bulk("bob") + bulk("default")}})
	eve.expectClosed() // gone
	converse(t, bob, []turn{{"ACL WHOAMI", bulk("bob")}, {"ECHO x", noPerm("bob", "echo")}})
	write("user bob on nopass +@all &a*\n")
	converse(t, admin, []turn{{"ACL LOAD", ok}})
	bob.expectClosed() // has lost b*
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(path, 0o700); err != nil {
		t.Fatal(err)
	}
	converse(t, admin, []turn{{"ACL SAVE", "-" + errACLSave + "\r\n"}})
}

func TestClientListAndKill_ByUser(t *testing.T) {
	srv := startServer(t, 2)
	srv.setUser("bob on nopass +@all &*")
	a, b, c := srv.dial(), srv.login("bob", "x"), srv.login("bob", "x")
	a.do("PING")
	var users []string
	for line := range strings.Lines(text(t, a.do("CLIENT", "LIST"))) {
		_, rest, _ := strings.Cut(line, " user=")
		user, _, _ := strings.Cut(rest, " ")
		users = append(users, user)
	}
	if want := []string{"default", "bob", "bob"}; !slices.Equal(users, want) {
		t.Errorf("users %q, want %q", users, want)
	}
	converse(t, a, []turn{{"CLIENT KILL USER eve", e("No such user 'eve'")}, {"CLIENT KILL USER bob", ":2\r\n"}})
	b.expectClosed()
	c.expectClosed()
	converse(t, a, []turn{{"CLIENT KILL USER default", ":0\r\n"}})
}

func TestMonitor_ShowsNoPasswords(t *testing.T) {
	srv := startServer(t, 1)
	srv.setUser("bob on >secret1 +@all &*")
	m, c := srv.dial(), srv.dial()
	converse(t, m, []turn{{"MONITOR", ok}})
	for _, line := range []string{
		"AUTH bob secret1", "AUTH bob secret2", "HELLO 3 AUTH bob secret1 SETNAME me", "ACL SETUSER eve >secret3", "ACL GETUSER bob",
		"ACL DELUSER bob", "CONFIG SET requirepass secret4", "PING end",
	} {
		c.do(strings.Fields(line)...)
		if strings.HasPrefix(line, "ACL DELUSER") {
			c.expectClosed()
			c = srv.dial()
		}
	}
	for {
		line := m.read()
		if strings.Contains(line, "secret") {
			t.Errorf("MONITOR shows %q", line)
		}
		if strings.Contains(line, `"end"`) {
			break
		}
	}
}
