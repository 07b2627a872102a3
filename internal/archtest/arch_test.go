package archtest

import (
	"os"
	"path/filepath"
	"reflect"
	"testing"
	"testing/fstest"
)

// moduleRoot returns the folder that holds go.mod.
func moduleRoot(t *testing.T) string {
	t.Helper()
	dir, err := filepath.Abs(".")
	if err != nil {
		t.Fatal(err)
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			t.Fatal("no go.mod above this package")
		}
		dir = parent
	}
}

func TestInvariant_ArrowsDown(t *testing.T) {
	findings, err := check(os.DirFS(moduleRoot(t)), "broker", house, testModules)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range findings {
		t.Error(f)
	}
}

// The checker itself, on small houses with one thing wrong in each.
func TestCheck(t *testing.T) {
	rooms := []room{
		{dir: "low", dataPlane: true, imports: []string{"example.org/codec/v2"}},
		{dir: "high", imports: []string{"low"}},
		{dir: "all", imports: []string{anything}},
		{dir: "top"},
	}
	good := map[string]string{
		"low/doc.go":   "// Package low is low.\npackage low\n",
		"high/doc.go":  "// Package high is high.\npackage high\n",
		"high/high.go": "package high\n\nimport _ \"m/low\"\n",
		"all/doc.go":   "// Package all sees all.\npackage all\n",
		"top/doc.go":   "// Command top is a program.\npackage main\n",
	}
	importing := func(pkg, path string) string { return "package " + pkg + "\n\nimport _ \"" + path + "\"\n" }
	cases := []struct {
		name   string
		file   string // put into the good tree, "" for none
		source string // "" removes the file
		want   []string
	}{
		{"good", "", "", nil},
		{"standard library", "low/a.go", importing("low", "net/http"), nil},
		{"listed module", "low/a.go", importing("low", "example.org/codec/v2/frame"), nil},
		{"below the room itself", "high/a/doc.go", "// Package a is a.\npackage a\n\nimport _ \"m/high\"\n", nil},
		{"test module in a test", "low/a_test.go", importing("low", "example.org/leak"), nil},
		{"anything from outside", "all/a.go", importing("all", "example.org/other"), nil},
		{"anything from below", "all/a.go", importing("all", "m/high"), nil},
		{"testdata", "low/testdata/a.go", "not Go", nil},
		{"hidden folder", ".tmp/a.go", "not Go", nil},
		{"underscore folder", "_tmp/a.go", "not Go", nil},

		{"upward", "low/a.go", importing("low", "m/high"), []string{"low/a.go: low may not import m/high"}},
		{"upward from a test", "low/a_test.go", importing("low_test", "m/high"), []string{"low/a_test.go: low may not import m/high"}},
		{"upward on another system", "low/a_plan9.go", importing("low", "m/high"), []string{"low/a_plan9.go: low may not import m/high"}},
		{"upward under a build tag", "low/a.go", "//go:build never\n\n" + importing("low", "m/high"), []string{"low/a.go: low may not import m/high"}},
		{"upward from below a room", "low/b/doc.go", "// Package b is b.\npackage b\n\nimport _ \"m/high\"\n", []string{"low/b/doc.go: low may not import m/high"}},
		{"sideways", "top/a.go", importing("main", "m/low"), []string{"top/a.go: top may not import m/low"}},
		{"anything is not from above", "all/a.go", importing("all", "m/top"), []string{"all/a.go: all may not import m/top"}},
		{"name that only begins like a room", "high/a.go", importing("high", "m/lower"), []string{"high/a.go: high may not import m/lower"}},
		{"module that is not listed", "high/a.go", importing("high", "example.org/codec/v2"), []string{"high/a.go: high may not import example.org/codec/v2"}},
		{"module that only begins alike", "low/a.go", importing("low", "example.org/codec/v22"), []string{"low/a.go: low may not import example.org/codec/v22"}},
		{"test module outside tests", "low/a.go", importing("low", "example.org/leak"), []string{"low/a.go: low may not import example.org/leak"}},
		{"cgo", "low/a.go", importing("low", "C"), []string{"low/a.go: low may not import C"}},
		{"folder that is no room", "new/doc.go", "// Package new is new.\npackage new\n", []string{"new belongs to no room of the table"}},
		{"file at the root", "a.go", "package m\n", []string{". belongs to no room of the table"}},
		{"room that is gone", "all/doc.go", "", []string{"all is in the table, but there is no package"}},
		{"no doc.go", "high/doc.go", "", []string{"high has no doc.go"}},
		{"no package comment", "low/doc.go", "package low\n", []string{`low/doc.go: the comment does not begin with "Package low "`}},
		{"comment about another package", "low/doc.go", "// Package lower is low.\npackage low\n", []string{`low/doc.go: the comment does not begin with "Package low "`}},
		{"comment of a command", "top/doc.go", "// Package main is a program.\npackage main\n", []string{`top/doc.go: the comment does not begin with "Command top "`}},
	}
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			tree := fstest.MapFS{}
			for name, source := range good {
				tree[name] = &fstest.MapFile{Data: []byte(source)}
			}
			if tc.file != "" {
				tree[tc.file] = &fstest.MapFile{Data: []byte(tc.source)}
				if tc.source == "" {
					delete(tree, tc.file)
				}
			}
			got, err := check(tree, "m", rooms, []string{"example.org/leak"})
			if err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(got, tc.want) {
				t.Errorf("findings %q\nwant     %q", got, tc.want)
			}
		})
	}
}

func TestCheckTable(t *testing.T) {
	cases := []struct {
		name  string
		rooms []room
		want  []string
	}{
		{"good", []room{{dir: "a", dataPlane: true}, {dir: "b", imports: []string{"a", "example.org/x"}}}, nil},
		{"upward", []room{{dir: "a", imports: []string{"b"}}, {dir: "b"}},
			[]string{"table: a may not list b, which is not below it"}},
		{"itself", []room{{dir: "a", imports: []string{"a"}}},
			[]string{"table: a may not list a, which is not below it"}},
		{"control plane from the data plane", []room{{dir: "internal/a"}, {dir: "b", dataPlane: true, imports: []string{"internal/a"}}},
			[]string{"table: b of the data plane may not list internal/a"}},
		{"anything from the data plane", []room{{dir: "a", dataPlane: true, imports: []string{anything}}},
			[]string{"table: a of the data plane may not list *"}},
	}
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			if got := checkTable(tc.rooms); !reflect.DeepEqual(got, tc.want) {
				t.Errorf("findings %q, want %q", got, tc.want)
			}
		})
	}
}

func TestCheck_BrokenSourceIsAnError(t *testing.T) {
	tree := fstest.MapFS{"a/a.go": &fstest.MapFile{Data: []byte("pakcage a\n")}}
	if findings, err := check(tree, "m", []room{{dir: "a"}}, nil); err == nil {
		t.Errorf("findings %q and no error", findings)
	}
}
