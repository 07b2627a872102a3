package command

import (
	"bufio"
	"fmt"
	"net"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"broker/resp"
)

// The golden files hold what a real redis-server answered; -update asks the
// one that is installed. The line of a command is its name, the protocol and
// the quoted bytes.
const (
	goldenInfo = "testdata/command_info.redis-7.0.15.golden"
	goldenHelp = "testdata/help.redis-7.0.15.golden"
)

// notAsGolden are the rows whose description differs from 7.0.15's: tips for
// proxies were added to CLIENT SETNAME and ACL SETUSER, DELUSER and SAVE in 7.2, and EVAL's specification of keys
// has a note there on scripts, of which there are none here.
var notAsGolden = map[string]string{
	"client|setname": "tips", "acl|deluser": "tips", "acl|save": "tips", "acl|setuser": "tips", "eval": "notes",
}

// laterThanGolden are the rows that 7.0.15 does not have.
var laterThanGolden = []string{"client|setinfo", "client|no-touch", "cluster|myshardid"}

// helpLaterThanGolden are lines of HELP that came after 7.0.15 with an option.
var helpLaterThanGolden = []string{"    * MAXAGE <maxage>", "      Kill connections older than the specified age."}

// TestCommandInfo_EqualsRedis compares the first nine elements of COMMAND INFO
// for every command that both servers have. Redis lists subcommands, the
// tenth, in the order of a hash table; TestCommandInfo_NestsSubcommands is for
// those.
func TestCommandInfo_EqualsRedis(t *testing.T) {
	if *update {
		recordCommandInfo(t)
	}
	golden := readGolden(t, goldenInfo)
	compared := 0
	for _, c := range newTable().rows {
		for _, proto := range []resp.Proto{resp.RESP2, resp.RESP3} {
			want, ok := golden[fmt.Sprintf("%s %d", c.fullName, proto)]
			if !ok || notAsGolden[c.fullName] != "" {
				continue
			}
			w := resp.Writer{Proto: proto}
			writeInfo(&w, c)
			if got := cutTenth(t, string(w.B)); got != want {
				t.Errorf("%s in RESP%d:\n got %q\nwant %q", c.fullName, proto, got, want)
			}
			compared++
		}
	}
	rows := 0
	for _, c := range newTable().rows {
		if !c.extension {
			rows++
		}
	}
	if want := 2 * (rows - len(laterThanGolden) - len(notAsGolden)); compared != want {
		t.Errorf("%d descriptions compared, want %d", compared, want)
	}
}

func TestCommandInfo_NestsSubcommands(t *testing.T) {
	for _, c := range newTable().commands {
		var w, nested resp.Writer
		writeInfo(&w, c)
		nested.Array(len(c.subs))
		for _, sub := range c.subs {
			writeInfo(&nested, sub)
		}
		tenth := strings.TrimPrefix(string(w.B), cutTenth(t, string(w.B)))
		if tenth != string(nested.B) {
			t.Errorf("%s: %q, want %q", c.name, tenth, nested.B)
		}
	}
}

// TestHelp_EqualsRedis compares HELP line by line, for the subcommands that
// exist here. The golden server says "Prints" where redis 8 says "Print".
func TestHelp_EqualsRedis(t *testing.T) {
	if *update {
		recordHelp(t)
	}
	golden := readGolden(t, goldenHelp)
	srv := startServer(t, 1, func(cfg *Config) { cfg.Cluster = true })
	c := srv.dial()
	for _, container := range newTable().commands {
		if container.index["help"] == nil {
			continue
		}
		theirs := lines(t, golden[container.name+" 2"])
		theirs[len(theirs)-1] = strings.Replace(theirs[len(theirs)-1], "Prints", "Print", 1)
		later := slices.Clone(helpLaterThanGolden)
		for _, name := range laterThanGolden {
			parent, sub, _ := strings.Cut(name, "|")
			if parent == container.name {
				later = append(later, container.index[sub].help...)
			}
		}
		for _, sub := range container.subs {
			if sub.extension {
				later = append(later, sub.help...)
			}
		}
		next := 0
		for _, line := range lines(t, c.do(container.name, "help")) {
			if slices.Contains(later, line) {
				continue
			}
			for next < len(theirs) && theirs[next] != line {
				next++
			}
			if next == len(theirs) {
				t.Fatalf("%s: Redis does not say %q, or not in this place", container.name, line)
			}
			next++
		}
	}
}

func lines(t *testing.T, raw string) []string {
	t.Helper()
	var out []string
	list, _ := decode(t, raw).([]value)
	for _, v := range list {
		out = append(out, v.(string))
	}
	if len(out) == 0 {
		t.Fatalf("no lines in %q", raw)
	}
	return out
}

// cutTenth returns the description without its last element.
func cutTenth(t *testing.T, raw string) string {
	t.Helper()
	head, rest, _ := strings.Cut(raw, "\r\n")
	if head != "*10" {
		t.Fatalf("not a description: %q", raw)
	}
	for range 9 {
		_, rest = decodeOne(t, rest)
	}
	return raw[:len(raw)-len(rest)]
}

func readGolden(t *testing.T, path string) map[string]string {
	t.Helper()
	file, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	golden := map[string]string{}
	for line := range strings.Lines(string(file)) {
		i := strings.IndexByte(line, '"')
		raw, err := strconv.Unquote(strings.TrimSpace(line[i:]))
		if err != nil {
			t.Fatalf("%s: %v in %q", path, err, line)
		}
		golden[strings.TrimSpace(line[:i])] = raw
	}
	return golden
}

func recordCommandInfo(t *testing.T) {
	var out strings.Builder
	for _, proto := range []string{"2", "3"} {
		redis := dialRedis(t)
		redis.do("HELLO", proto)
		for _, c := range newTable().rows {
			raw := redis.do("COMMAND", "INFO", c.fullName)
			if one := strings.TrimPrefix(raw, "*1\r\n"); strings.HasPrefix(one, "*10\r\n") {
				fmt.Fprintf(&out, "%s %s %q\n", c.fullName, proto, cutTenth(t, one))
			}
		}
	}
	writeGolden(t, goldenInfo, out.String())
}

func recordHelp(t *testing.T) {
	var out strings.Builder
	redis := dialRedis(t, "--cluster-enabled", "yes")
	for _, c := range newTable().commands {
		if c.index["help"] != nil {
			fmt.Fprintf(&out, "%s 2 %q\n", c.name, redis.do(c.name, "HELP"))
		}
	}
	writeGolden(t, goldenHelp, out.String())
}

func writeGolden(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// dialRedis starts redis-server on a free port and connects to it.
func dialRedis(t *testing.T, flags ...string) *client {
	t.Helper()
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port := free.Addr().(*net.TCPAddr).Port
	_ = free.Close()
	flags = append(flags, "--port", strconv.Itoa(port), "--bind", "127.0.0.1", "--save", "", "--dir", t.TempDir())
	cmd := exec.Command("redis-server", flags...)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	for log := bufio.NewScanner(out); ; {
		if !log.Scan() {
			t.Fatalf("redis-server ended: %v", log.Err())
		}
		if strings.Contains(log.Text(), "Ready to accept") {
			break
		}
	}
	conn, err := net.DialTimeout("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)), 10*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return newClient(t, conn)
}
