package config

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"testing/iotest"
)

// loadText loads a configuration file with the given text, besides which
// there are the others.
func loadText(text string, others map[string]string) (Config, []Unused, error) {
	texts := map[string]string{"main.conf": text}
	for name, other := range others {
		texts[name] = other
	}
	return Sources{Args: []string{"main.conf"}}.load(textFiles(texts))
}

func TestFile_SetsWhatItSays(t *testing.T) {
	c, unused, err := loadText(`# A comment, and a blank line.

	PORT 7000
bind 127.0.0.1   "-::1"
   # indented
maxclients "20"
client-output-buffer-limit pubsub 1mb 2mb 3
client-output-buffer-limit 'normal 4 5 6'
unixsocket "/tmp/\x61 b"
logfile ''
databases 1
databases 2
`+"tcp-keepalive 7\r\nloglevel warning", nil)
	if err != nil || unused != nil {
		t.Fatalf("error %v, unused %v", err, unused)
	}
	for name, want := range map[string]string{
		"port": "7000", "bind": "127.0.0.1 -::1", "maxclients": "20", "unixsocket": "/tmp/a b", "logfile": "",
		"databases": "2", "tcp-keepalive": "7", "loglevel": "warning", "shards": "0",
		"client-output-buffer-limit": "normal 4 5 6 slave 268435456 67108864 60 pubsub 1048576 2097152 3",
	} {
		if got := c.Get(name); len(got) != 1 || got[0].Value != want {
			t.Errorf("Get(%s) = %q, want %q", name, got, want)
		}
	}
}

func TestFile_Errors(t *testing.T) {
	others := map[string]string{
		"good.conf":   "port 1\n",
		"bad.conf":    "\nport x\n",
		"outer.conf":  "include bad.conf",
		"missing":     "include nowhere",
		"circle.conf": "include circle.conf",
		"twice.conf":  "include twice.con[f]\n",
	}
	cases := []struct{ text, want string }{
		{"port 1\n\nprot 7000", `main.conf:3: "prot 7000": unknown parameter "prot", did you mean port?`},
		{"what-is-this 1", `main.conf:1: "what-is-this 1": unknown parameter "what-is-this", see --help`},
		{"  port   70000  ", `main.conf:1: "port   70000": argument must be between 0 and 65535 inclusive`},
		{"port", `main.conf:1: "port": wrong number of arguments`},
		{"port 1 # standard", `main.conf:1: "port 1 # standard": wrong number of arguments`},
		{`port "1`, `main.conf:1: "port \"1": Unbalanced quotes in configuration line`},
		{`port "1"2`, `main.conf:1: "port \"1\"2": Unbalanced quotes in configuration line`},
		{"port 1\x002", `main.conf:1: "port 1\x002": argument contains a NUL byte`},
		{"\ufeffport 1", `main.conf:1: "\ufeffport 1": unknown parameter "\ufeffport", did you mean port?`},
		{"--port 1", `main.conf:1: "--port 1": unknown parameter "--port", did you mean port?`},
		{"hz", `main.conf:1: "hz": wrong number of arguments`},
		{"daemonize yes", `main.conf:1: "daemonize yes": not supported, only "no" is: let a service manager or a container run it in the background`},
		{"include", `main.conf:1: "include": wrong number of arguments`},
		{"include a b", `main.conf:1: "include a b": wrong number of arguments`},
		{"include nowhere", `main.conf:1: "include nowhere": cannot read configuration file nowhere: no such file or directory`},
		{"\ninclude missing", `missing:1: "include nowhere": cannot read configuration file nowhere: no such file or directory`},
		{"include good.conf\ninclude outer.conf", `bad.conf:2: "port x": argument couldn't be parsed into an integer`},
		{"include *.con[", `main.conf:1: "include *.con[": syntax error in pattern`},
		{"include circle.conf", `circle.conf:1: "include circle.conf": files include each other more than 16 deep`},
		{"include good.conf\nbind", `configured to not listen anywhere (see bind, port, tls-port and unixsocket)`},

		{"requirepass hunter2 hunter3", `main.conf:1: "requirepass (hidden)": wrong number of arguments`},
		{`requirepass "hunter2`, `main.conf:1: "requirepass (hidden)": Unbalanced quotes in configuration line`},
		{`"requirepass" hunter2 x`, `main.conf:1: "requirepass (hidden)": wrong number of arguments`},
		{"requirepass\thunter2 x", `main.conf:1: "requirepass (hidden)": wrong number of arguments`},
		{"requirpass hunter2", `main.conf:1: "requirpass (hidden)": unknown parameter "requirpass", did you mean requirepass?`},
		{"user '' on >hunter2 ~* &* +@all", `main.conf:1: "user (hidden)": argument contains no user name`},
		{"masterauth 'hunter2", `main.conf:1: "masterauth (hidden)": Unbalanced quotes in configuration line`},
	}
	for _, tc := range cases {
		t.Run(tc.text, func(t *testing.T) {
			c, _, err := loadText(tc.text, others)
			if err == nil {
				t.Fatalf("loaded %+v, want error %q", c, tc.want)
			}
			if err.Error() != tc.want {
				t.Errorf("error %q\n want %q", err, tc.want)
			}
		})
	}
}

func TestInclude_AppliesAtItsLine(t *testing.T) {
	others := map[string]string{"a.conf": "port 2\ndatabases 2", "b.conf": "databases 3\ninclude c", "c": "shards 3"}
	for text, want := range map[string][2]string{ // port and databases
		"port 1\ninclude a.conf":         {"2", "2"},
		"include a.conf\nport 1":         {"1", "2"},
		"INCLUDE \"a.conf\"":             {"2", "2"},
		"include [ab].conf":              {"2", "3"},
		"include none*.conf\nport 1":     {"1", "16"},
		"include b.conf\ninclude a.co?f": {"2", "2"},
	} {
		c, _, err := loadText(text, others)
		if err != nil {
			t.Errorf("%q: %v", text, err)
			continue
		}
		if got := [2]string{c.Get("port")[0].Value, c.Get("databases")[0].Value}; got != want {
			t.Errorf("%q: port and databases %q, want %q", text, got, want)
		}
	}
}

// An include on the command line counts as the command line, at its place.
func TestInclude_AsFlag(t *testing.T) {
	files := textFiles(map[string]string{"main": "port 1", "more": "port 2\nshards 2"})
	for args, want := range map[string]int{
		"main|--include|more":            2,
		"main|--include=more|--port|3":   3,
		"--port|3|--include|more":        2,
		"main|--include|non*|--shards|1": 1,
	} {
		c, _, err := Sources{Args: strings.Split(args, "|")}.load(files)
		if err != nil || c.Port != want {
			t.Errorf("%s: port %d, %v, want %d", args, c.Port, err, want)
		}
	}
	_, _, err := Sources{Args: []string{"--include", "nowhere"}}.load(files)
	if want := `--include "nowhere": cannot read configuration file nowhere: no such file or directory`; err == nil || err.Error() != want {
		t.Errorf("error %v, want %s", err, want)
	}
}

func TestFile_LimitsOfText(t *testing.T) {
	line := "# " + strings.Repeat("x", 1021) + "\n"
	half := strings.Repeat(line, maxFileBytes/2/len(line))
	exact := strings.Repeat(line, maxFileBytes/len(line))
	if _, _, err := loadText(exact, nil); err != nil {
		t.Errorf("the limit exactly: %v", err)
	}
	for name, text := range map[string]string{
		"one byte more":  exact + "\n",
		"in three files": "include half\ninclude half\n",
	} {
		if _, _, err := loadText(text, map[string]string{"half": half}); !errors.Is(err, errTooMuchText) {
			t.Errorf("%s: error %v, want %v", name, err, errTooMuchText)
		}
	}
}

func TestFile_LimitOfFiles(t *testing.T) {
	// Each level includes the next one twice: far fewer deep than allowed, far
	// more files.
	others := map[string]string{}
	for i := range maxIncludeDepth - 2 {
		others[fmt.Sprint(i)] = strings.Repeat(fmt.Sprintf("include %d\n", i+1), 2)
	}
	others[fmt.Sprint(maxIncludeDepth-2)] = ""
	if _, _, err := loadText("include 0", others); !errors.Is(err, errManyFiles) {
		t.Errorf("error %v, want %v", err, errManyFiles)
	}
	if _, _, err := loadText(strings.Repeat("include empty\n", maxFiles-1), map[string]string{"empty": ""}); err != nil {
		t.Errorf("as many files as allowed: %v", err)
	}
	if _, _, err := loadText(strings.Repeat("include empty\n", maxFiles), map[string]string{"empty": ""}); !errors.Is(err, errManyFiles) {
		t.Errorf("one more: error %v, want %v", err, errManyFiles)
	}
}

func TestFile_LimitOfDepth(t *testing.T) {
	chain := func(n int) map[string]string { // n files, each but the last including the next
		others := map[string]string{}
		for i := range n {
			others[fmt.Sprint(i)] = fmt.Sprintf("include %d\n", i+1)
		}
		others[fmt.Sprint(n-1)] = "port 3"
		return others
	}
	if c, _, err := loadText("include 0", chain(maxIncludeDepth-1)); err != nil || c.Port != 3 {
		t.Errorf("as deep as allowed: port %d, %v", c.Port, err)
	}
	if _, _, err := loadText("include 0", chain(maxIncludeDepth)); !errors.Is(err, errTooDeep) {
		t.Errorf("one deeper: error %v, want %v", err, errTooDeep)
	}
}

func TestStdin_IsTheFileNamedDash(t *testing.T) {
	c, _, err := Sources{
		Args:  []string{"-", "--shards", "2"},
		Stdin: strings.NewReader("port 1\nshards 1\ninclude more\n"),
	}.load(textFiles(map[string]string{"more": "databases 3"}))
	if err != nil || c.Port != 1 || c.Shards != 2 || c.Databases != 3 || c.File != "" {
		t.Errorf("port %d, shards %d, databases %d, file %q, error %v", c.Port, c.Shards, c.Databases, c.File, err)
	}
	_, _, err = Sources{Args: []string{"-"}, Stdin: strings.NewReader("\nport x")}.Load()
	if want := `stdin:2: "port x": argument couldn't be parsed into an integer`; err == nil || err.Error() != want {
		t.Errorf("error %v, want %s", err, want)
	}
	_, _, err = Sources{Args: []string{"-"}, Stdin: iotest.ErrReader(errors.New("gone"))}.Load()
	if want := `cannot read configuration file stdin: gone`; err == nil || err.Error() != want {
		t.Errorf("error %v, want %s", err, want)
	}
}

func TestUnused_EachOnceAndWhereItStoodFirst(t *testing.T) {
	_, unused, err := Sources{
		Args: []string{"main.conf", "--hz", "3", "--dbfilename", "x", "--save", ""},
		Env:  []string{"BROKER_DIR=/", "BROKER_HZ=5"},
	}.load(textFiles(map[string]string{
		"main.conf": "save \"\"\nhz 1\nHZ 2\nmaxmemory-policy noeviction\nappendonly no\ninclude b.conf\ntls-port 0\n",
		"b.conf":    "\nmaxmemory-policy allkeys-lru\nmasterauth x\n",
	}))
	want := []Unused{
		{"hz", "main.conf:2"}, {"maxmemory-policy", "b.conf:2"}, {"masterauth", "b.conf:3"},
		{"dir", "BROKER_DIR"}, {"dbfilename", "command line"},
	}
	if err != nil || !reflect.DeepEqual(unused, want) {
		t.Errorf("unused %v, %v\nwant   %v", unused, err, want)
	}
}

// Files of the real file system, which the other tests do without.
func TestFile_OnDisk(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	for name, text := range map[string]string{
		"main.conf":         "port 1\ninclude conf.d/*.conf\n",
		"conf.d/20.conf":    "databases 20\nshards 2\n",
		"conf.d/10.conf":    "databases 10\n",
		"conf.d/.30.conf":   "databases 30\nmaxclients 30\n",
		"conf.d/readme.txt": "nonsense\n",
		"x/!a":              "databases 40\n",
		"x/b":               "databases 50\n",
	} {
		if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	c, _, err := Sources{Args: []string{"main.conf"}}.Load()
	if err != nil {
		t.Fatal(err)
	}
	if c.Port != 1 || c.Databases != 20 || c.Shards != 2 {
		t.Errorf("port %d, databases %d, shards %d, want 1, 20, 2", c.Port, c.Databases, c.Shards)
	}
	if c.MaxClients == 30 {
		t.Error("conf.d/*.conf matches a hidden file")
	}
	if want := filepath.Join(dir, "main.conf"); c.File != want {
		t.Errorf("File = %q, want %q", c.File, want)
	}
	for pattern, want := range map[string]int{"x/[!a]*": 50, "conf.d/.*": 30, dir + "/*/1*": 10, "./x/?": 50} {
		if c, err := Load([]string{"--include", pattern}); err != nil || c.Databases != want {
			t.Errorf("include %s: databases %d, %v, want %d", pattern, c.Databases, err, want)
		}
	}
	_, err = Load([]string{dir})
	if want := "cannot read configuration file " + dir + ": is a directory"; err == nil || err.Error() != want {
		t.Errorf("error %v, want %s", err, want)
	}
}

func TestFile_ErrorIsOneShortLine(t *testing.T) {
	long := strings.Repeat("x\r", 1<<16)
	for _, text := range []string{long, "port " + long, "include " + long, "include *" + long, "requirepass \"" + long} {
		_, _, err := loadText(text, nil)
		if err == nil {
			if strings.HasPrefix(text, "include *") {
				continue // matches nothing
			}
			t.Fatalf("%.20q...: loaded", text)
		}
		if line := err.Error(); len(line) > 2048 || strings.ContainsAny(line, "\r\n") {
			t.Errorf("error of %d bytes: %.80q...", len(line), line)
		}
	}
}

// asFile writes what c.Get shows as a configuration file.
func asFile(c *Config) string {
	var b strings.Builder
	for _, p := range c.Get("*") {
		b.WriteString(p.Name + " " + quoted([]string{p.Value}) + "\n")
	}
	for _, words := range c.Users {
		b.WriteString("user " + quoted(words) + "\n")
	}
	return b.String()
}

func FuzzFile(f *testing.F) {
	for _, seed := range [][2]string{
		{"", ""},
		{"port 7000\nbind 127.0.0.1 -::1\n# c\n", ""},
		{"include other\nport 1", "include main.conf"},
		{"include o*\ninclude [mo]*", "hz 10\nsave \"\"\nmaxmemory 0mb"},
		{"include \"[\"\n", "port \"\\x31\""},
		{"requirepass x\n", ""},
		{"user default on nopass sanitize-payload ~* &* +@all\nunixsocket 'a b'\r\nport 0", ""},
		{"client-output-buffer-limit pubsub 32mb 8mb 60\nclient-output-buffer-limit normal \"0 0\" 0", ""},
		{"user a\nuser 'b on' \nuser c '(+get ~a b)' \"\\n\"\nuser 'd\"'", ""},
		{"protected-mode no\nbind *\nlogfile \"\\x00\"", ""},
	} {
		f.Add(seed[0], seed[1])
	}
	f.Fuzz(func(t *testing.T, text, other string) {
		c, unused, err := loadText(text, map[string]string{"other": other})
		if err != nil {
			if line := err.Error(); len(line) > 4096 || strings.ContainsAny(line, "\r\n") {
				t.Errorf("error of %d bytes: %q", len(line), line)
			}
			return
		}
		if err := c.Validate(); err != nil {
			t.Errorf("loaded %+v, which is not valid: %v", c, err)
		}
		seen := map[string]bool{}
		for _, u := range unused {
			if seen[u.Name] {
				t.Errorf("%s is reported twice", u.Name)
			}
			seen[u.Name] = true
		}
		again, unused, err := loadText(asFile(&c), nil)
		if err != nil || len(unused) != len(c.WithoutEffect) {
			t.Fatalf("what Get shows of %+v: unused %v, %v", c, unused, err)
		}
		if !reflect.DeepEqual(again, c) {
			t.Errorf("reloaded %+v\nfrom     %+v", again, c)
		}
	})
}
