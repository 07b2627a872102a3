package archtest

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"
)

// check returns what is wrong with the source tree, one sentence per
// finding. module is the import path of the tree's root.
func check(tree fs.FS, module string, rooms []room, testModules []string) ([]string, error) {
	findings := checkTable(rooms)
	pkgs, err := packages(tree)
	if err != nil {
		return nil, err
	}
	inhabited := map[string]bool{}
	for _, dir := range pkgs {
		r := roomOf(rooms, dir)
		if r == nil {
			findings = append(findings, fmt.Sprintf("%s belongs to no room of the table", dir))
			continue
		}
		inhabited[r.dir] = true
		found, err := checkPackage(tree, dir, module, r, rooms, testModules)
		if err != nil {
			return nil, err
		}
		findings = append(findings, found...)
	}
	for _, r := range rooms {
		if !inhabited[r.dir] {
			findings = append(findings, fmt.Sprintf("%s is in the table, but there is no package", r.dir))
		}
	}
	return findings, nil
}

// checkTable holds the table to its own rules.
func checkTable(rooms []room) []string {
	var findings []string
	earlier := map[string]room{}
	for _, r := range rooms {
		for _, to := range r.imports {
			below, isRoom := earlier[to]
			switch {
			case !isRoom && slices.ContainsFunc(rooms, func(r room) bool { return r.dir == to }):
				findings = append(findings, fmt.Sprintf("table: %s may not list %s, which is not below it", r.dir, to))
			case r.dataPlane && (to == anything || isRoom && !below.dataPlane):
				findings = append(findings, fmt.Sprintf("table: %s of the data plane may not list %s", r.dir, to))
			}
		}
		earlier[r.dir] = r
	}
	return findings
}

// packages returns the folders of the tree that hold Go files, sorted, as
// the go command sees them: without testdata, hidden folders, folders that
// begin with an underscore, and modules of their own.
func packages(tree fs.FS) ([]string, error) {
	var dirs []string
	err := fs.WalkDir(tree, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		base := path.Base(name)
		if entry.IsDir() {
			if name == "." {
				return nil
			}
			if base == "testdata" || base == "vendor" || base[0] == '.' || base[0] == '_' {
				return fs.SkipDir
			}
			if _, err := fs.Stat(tree, path.Join(name, "go.mod")); err == nil {
				return fs.SkipDir
			}
			return nil
		}
		if dir := path.Dir(name); isSource(base) && !slices.Contains(dirs, dir) {
			dirs = append(dirs, dir)
		}
		return nil
	})
	slices.Sort(dirs)
	return dirs, err
}

func isSource(base string) bool {
	return strings.HasSuffix(base, ".go") && base[0] != '.' && base[0] != '_'
}

// checkPackage judges the files of one folder.
func checkPackage(tree fs.FS, dir, module string, r *room, rooms []room, testModules []string) ([]string, error) {
	entries, err := fs.ReadDir(tree, dir)
	if err != nil {
		return nil, err
	}
	var findings []string
	documented := false
	for _, entry := range entries {
		if entry.IsDir() || !isSource(entry.Name()) {
			continue
		}
		name := path.Join(dir, entry.Name())
		file, err := parse(tree, name)
		if err != nil {
			return nil, err
		}
		if entry.Name() == "doc.go" {
			documented = true
			if want := commentStart(dir, file.Name.Name); !strings.HasPrefix(file.Doc.Text(), want) {
				findings = append(findings, fmt.Sprintf("%s: the comment does not begin with %q", name, want))
			}
		}
		for _, spec := range file.Imports {
			to, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				return nil, fmt.Errorf("%s: import %s: %w", name, spec.Path.Value, err)
			}
			allowed := mayImport(r, rooms, module, to)
			if strings.HasSuffix(name, "_test.go") {
				allowed = allowed || slices.ContainsFunc(testModules, func(m string) bool { return within(to, m) })
			}
			if !allowed {
				findings = append(findings, fmt.Sprintf("%s: %s may not import %s", name, r.dir, to))
			}
		}
	}
	if !documented {
		findings = append(findings, fmt.Sprintf("%s has no doc.go", dir))
	}
	return findings, nil
}

func parse(tree fs.FS, name string) (*ast.File, error) {
	src, err := fs.ReadFile(tree, name)
	if err != nil {
		return nil, err
	}
	return parser.ParseFile(token.NewFileSet(), name, src, parser.ImportsOnly|parser.ParseComments)
}

// commentStart returns how the package comment of a folder has to begin.
func commentStart(dir, pkg string) string {
	if pkg == "main" {
		return "Command " + path.Base(dir) + " "
	}
	return "Package " + pkg + " "
}

// mayImport reports whether files of r may import the package to.
func mayImport(r *room, rooms []room, module, to string) bool {
	dir, ours := strings.CutPrefix(to, module+"/")
	if !ours {
		// Only paths with a dot in their first element are from outside the
		// standard library.
		if first, _, _ := strings.Cut(to, "/"); !strings.Contains(first, ".") {
			return to != module && to != "C"
		}
		return slices.ContainsFunc(r.imports, func(m string) bool { return m == anything || within(to, m) })
	}
	target := roomOf(rooms, dir)
	switch {
	case target == nil:
		return false
	case target.dir == r.dir, slices.Contains(r.imports, target.dir):
		return true
	}
	return slices.Contains(r.imports, anything) && before(rooms, target, r)
}

// before reports whether a stands in an earlier row than b.
func before(rooms []room, a, b *room) bool {
	index := func(r *room) int {
		return slices.IndexFunc(rooms, func(other room) bool { return other.dir == r.dir })
	}
	return index(a) < index(b)
}

// roomOf returns the room that the folder belongs to, nil if there is none.
func roomOf(rooms []room, dir string) *room {
	for i := range rooms {
		if within(dir, rooms[i].dir) {
			return &rooms[i]
		}
	}
	return nil
}

// within reports whether name is prefix or below it.
func within(name, prefix string) bool {
	rest, ok := strings.CutPrefix(name, prefix)
	return ok && (rest == "" || rest[0] == '/')
}
