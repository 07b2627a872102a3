package config

import (
	"flag"
	"fmt"
	"os"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write broker.conf and the README's tables instead of comparing them")

const (
	confPath   = "../../broker.conf"
	readmePath = "../../README.md"
)

const confHeader = `# Configuration of broker, in the syntax of redis.conf:
#
#     broker broker.conf
#
# Each parameter stands here with its default, as a comment. To change one,
# remove the '#' in front of it. Sizes take the units b, k, kb, m, mb, g and gb
# (1kb is 1024 bytes, 1k is 1000). Values with blanks or special bytes are
# quoted: "a b\x41\n" or 'a b'. A comment is a line of its own.
#
# The environment overrides this file (BROKER_TCP_BACKLOG is tcp-backlog), and
# the command line overrides both (--tcp-backlog 511).

# Files to read at this place, relative to the working directory. A pattern may
# match none. What is read later overrides what was read before.
#
# include /etc/broker/conf.d/*.conf
`

// confFile returns what broker.conf has to contain.
func confFile() string {
	var b strings.Builder
	b.WriteString(confHeader)
	for _, p := range settings() {
		b.WriteString("\n")
		text := strings.ToUpper(p.doc[:1]) + p.doc[1:] + "."
		if strings.Contains(p.args, "|") {
			text += " One of " + strings.ReplaceAll(p.args, "|", ", ") + "."
		}
		if p.atStart {
			text += " At start only."
		}
		wrap(&b, "# ", text, 78)
		value := confDefault(&p)
		if p.lines {
			value = p.args // there is no line that says nothing
		}
		fmt.Fprintf(&b, "#\n# %s %s\n", p.name, value)
	}
	return b.String()
}

// confDefault returns the default as a file contains it.
func confDefault(p *parameter) string {
	if p.def == "" {
		return `""`
	}
	return p.def
}

// parameterTable returns the table of parameters in the README.
func parameterTable() string {
	var b strings.Builder
	b.WriteString("| Parameter | Default | `CONFIG SET` | |\n| --- | --- | --- | --- |\n")
	for _, p := range settings() {
		set := "yes"
		if p.atStart {
			set = "no"
		}
		def := ""
		if p.def != "" {
			def = "`" + p.def + "`"
		}
		fmt.Fprintf(&b, "| `%s %s` | %s | %s | %s |\n", p.name, strings.ReplaceAll(p.args, "|", `\|`), def, set, p.doc)
	}
	return b.String()
}

// factTable returns the README's table of what cannot be otherwise.
func factTable() string {
	var b strings.Builder
	b.WriteString("| Parameter | Accepted | Why no other |\n| --- | --- | --- |\n")
	for _, p := range facts() {
		err := p.set(new(Config), []string{"nonsense"})
		if p.get == nil || p.hidden || err == errWithoutEffect {
			continue
		}
		_, why, _ := strings.Cut(err.Error(), " is: ")
		fmt.Fprintf(&b, "| `%s` | `%s` | %s |\n", p.name, confDefault(&p), why)
	}
	b.WriteString("\nThese are accepted and have no effect. `CONFIG GET` shows what they were set\nto, and before that what a fresh Redis has:\n\n<details><summary>Parameters without effect</summary>\n\n")
	var names []string
	for _, p := range table() {
		if p.inert || p.idle {
			names = append(names, "`"+p.name+"`")
		}
	}
	slices.Sort(names)
	wrap(&b, "", strings.Join(names, ", ")+".", 79)
	b.WriteString("\n</details>\n")
	return b.String()
}

// checkDocument compares a part of a file with what the table says, or writes
// it with -update. The part stands between the two markers, which are lines of
// their own; without markers it is the whole file.
func checkDocument(t *testing.T, path, begin, end, want string) {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Skip("the documents show the defaults of Linux; io has another one here")
	}
	text, err := os.ReadFile(path)
	if err != nil && !(*update && begin == "") {
		t.Fatal(err)
	}
	before, part, after := "", string(text), ""
	if begin != "" {
		var ok, ok2 bool
		before, part, ok = strings.Cut(part, begin+"\n")
		part, after, ok2 = strings.Cut(part, end+"\n")
		if !ok || !ok2 {
			t.Fatalf("%s has no part between %q and %q", path, begin, end)
		}
		before, after = before+begin+"\n", end+"\n"+after
	}
	if part == want {
		return
	}
	if !*update {
		t.Fatalf("%s is not what the table says: go test ./internal/config -run %s -update", path, t.Name())
	}
	if err := os.WriteFile(path, []byte(before+want+after), 0o644); err != nil {
		t.Fatal(err)
	}
}

func TestBrokerConf_IsUpToDate(t *testing.T) {
	checkDocument(t, confPath, "", "", confFile())
}

func TestREADME_ListsTheParameters(t *testing.T) {
	checkDocument(t, readmePath, "<!-- parameters:begin -->", "<!-- parameters:end -->", parameterTable())
	checkDocument(t, readmePath, "<!-- facts:begin -->", "<!-- facts:end -->", factTable())
}

// The file changes nothing as it is, and still nothing when each default in it
// is uncommented, one paragraph at a time and all of them together.
func TestBrokerConf_LoadsToTheDefaults(t *testing.T) {
	conf := confFile()
	expectDefault := func(what, text string) {
		t.Helper()
		c, unused, err := loadText(text, nil)
		if err != nil || len(unused) != 0 {
			t.Errorf("%s: unused %v, error %v", what, unused, err)
			return
		}
		c.File = ""
		if want := Default(); !reflect.DeepEqual(c, want) {
			t.Errorf("%s: %+v\nwant %+v", what, c, want)
		}
	}
	expectDefault("as it is", conf)

	var all strings.Builder
	paragraphs := strings.Split(strings.TrimSpace(conf), "\n\n")[1:]
	if want := len(settings()) + 1; len(paragraphs) != want {
		t.Fatalf("%d paragraphs behind the header, want %d", len(paragraphs), want)
	}
	for _, p := range paragraphs {
		line := strings.TrimPrefix(p[strings.LastIndexByte(p, '\n')+1:], "# ")
		if strings.HasPrefix(line, "user ") {
			continue // each mention is one more user
		}
		expectDefault(line, line)
		all.WriteString(line + "\n")
	}
	expectDefault("all uncommented", all.String())
}

func TestBrokerConf_FitsATerminal(t *testing.T) {
	for line := range strings.Lines(confFile()) {
		if strings.HasPrefix(line, "# client-output-buffer-limit ") {
			continue // one directive is one line
		}
		if n := len(strings.TrimRight(line, "\n")); n > 80 {
			t.Errorf("line of %d bytes: %s", n, line)
		}
	}
}

func TestREADME_TablesHaveTheirCells(t *testing.T) {
	for table, cells := range map[string]int{parameterTable(): 4, factTable(): 3} {
		for line := range strings.Lines(table) {
			if n := strings.Count(line, "|") - strings.Count(line, `\|`); strings.HasPrefix(line, "|") && n != cells+1 {
				t.Errorf("%d cell borders in %q", n, line)
			}
		}
	}
}
