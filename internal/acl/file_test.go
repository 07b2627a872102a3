package acl

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func writeFile(t *testing.T, text string) (path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "users.acl")
	if err := os.WriteFile(path, []byte(text), 0o640); err != nil {
		t.Fatal(err)
	}
	return path
}

func list(s *Store) string {
	var b strings.Builder
	for _, u := range s.Users() {
		b.WriteString(u.Name() + " " + u.Rules().String() + "\n")
	}
	return b.String()
}

func TestLoad_ReplacesAllUsers(t *testing.T) {
	s := newTestStore()
	kept := set(t, s, "kept", "on", "nopass", "+ping", "&a")
	gone := set(t, s, "gone", "+ping", "&a")
	set(t, s, "default", "off", "-@all")
	path := writeFile(t, "\n\t user kept on >pass +echo &b ( +publish &c ) \r\n\nuser new\n")
	changes, err := s.Load(path)
	if err != nil {
		t.Fatal(err)
	}
	want := "default on nopass sanitize-payload ~* &* +@all\n" +
		"kept on sanitize-payload #d74ff0ee8da3b9806b18c877dbf29bbde50b5bd8e4dad7a3a725000feb82e8f1 resetchannels &b -@all +echo (resetchannels &c -@all +publish)\n" +
		"new off sanitize-payload resetchannels -@all\n"
	if got := list(s); got != want {
		t.Errorf("\n got %q\nwant %q", got, want)
	}
	if s.Lookup("kept") != kept || !gone.Rules().Deleted() {
		t.Error("handles do not show what the file says")
	}
	var revoked []string
	for _, c := range changes {
		if c.Revokes() {
			revoked = append(revoked, c.User.Name())
		}
	}
	slices.Sort(revoked)
	if !slices.Equal(revoked, []string{"gone", "kept"}) {
		t.Errorf("revoked: %q", revoked)
	}
}

func TestLoad_IsAllOrNothing(t *testing.T) {
	const warning = "WARNING: ACL errors detected, no change to the previously active ACL rules was performed"
	for text, want := range map[string]string{
		"user a on\nfoo":                      "FILE:2 should start with user keyword followed by the username. ",
		"user":                                "FILE:1 should start with user keyword followed by the username. ",
		"# comment\nuser a on":                "FILE:1 should start with user keyword followed by the username. ",
		"user a on\nuser b\tc on":             "'FILE:2: username 'b\tc' contains invalid characters. ",
		"user a on\n\nuser a off":             "WARNING: Duplicate user 'a' found on line 3. ",
		"user a on\nuser b (+ping":            "FILE:2: Unmatched parenthesis in selector definition. ",
		"user a +foo on bar <secret -@baz":    "FILE:1: Error in applying operation '+foo': Unknown command or category name in ACL. FILE:1: Syntax error. FILE:1: Error in applying operation '-@baz': Unknown command or category name in ACL. ",
		"user a <secret":                      "FILE:1: The password you are trying to remove from the user does not exist. ",
		"user a +%d%s\x00x\nuser b allkeys ~": "FILE:1: Error in applying operation '+%d%s': Unknown command or category name in ACL. FILE:2: Adding a pattern after the * pattern (or the 'allkeys' flag) is not valid and does not have any effect. Try 'resetkeys' to start with an empty list of patterns. ",
	} {
		s := newTestStore()
		set(t, s, "u", "on", "+ping")
		before := list(s)
		path := writeFile(t, text)
		_, err := s.Load(path)
		if want := strings.ReplaceAll(want, "FILE", path) + warning; err == nil || err.Error() != want {
			t.Errorf("%q:\n got %v\nwant %s", text, err, want)
		}
		if got := list(s); got != before {
			t.Errorf("%q: users are %q now", text, got)
		}
	}
}

func TestLoad_ReportIsBounded(t *testing.T) {
	path := writeFile(t, strings.Repeat("foo\n", 100_000))
	_, err := newTestStore().Load(path)
	if err == nil || len(err.Error()) > 2*maxReportBytes || !strings.Contains(err.Error(), "(and more)") {
		t.Errorf("a report of %d bytes", len(err.Error()))
	}
}

func TestLoad_WithoutAFile(t *testing.T) {
	s := newTestStore()
	path := filepath.Join(t.TempDir(), "none")
	_, err := s.Load(path)
	if want := "Error loading ACLs, opening file '" + path + "': No such file or directory"; err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
	if _, err := s.Load(t.TempDir()); err == nil {
		t.Error("a folder is loaded")
	}
}

func TestSave_IsWhatLoadReads(t *testing.T) {
	s := newTestStore()
	set(t, s, "default", "resetpass", ">x", "skip-sanitize-payload", "-config|set")
	set(t, s, "alice", "on", ">one", ">two", "~a*", "%R~b*", "&news.*", "&it's", `&"q"`, "+@pubsub", "-subscribe", "+get", "+select|0")
	set(t, s, "bob", "on", "nopass", `(&a\ "~b'" +publish)`, "(+@all -echo &* ~*)", "()")
	set(t, s, "quotes", `("&a)" "~b\"c)")`)
	want := list(s)
	path := writeFile(t, "old")
	if err := s.Save(path); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.HasPrefix(text, []byte("user alice on sanitize-payload #")) || bytes.Count(text, []byte("\n")) != 4 {
		t.Errorf("the file is %q", text)
	}
	for _, into := range []*Store{newTestStore(), s} {
		if _, err := into.Load(path); err != nil {
			t.Fatal(err)
		}
		if got := list(into); got != want {
			t.Errorf("\n got %q\nwant %q", got, want)
		}
	}
	fromLines := newTestStore()
	if err := fromLines.SetConfigured(s.Lines()); err != nil {
		t.Fatal(err)
	}
	if got := list(fromLines); got != want {
		t.Errorf("from lines:\n got %q\nwant %q", got, want)
	}
}

func TestSave_ReplacesTheFile(t *testing.T) {
	s := newTestStore()
	path := writeFile(t, "old")
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(path, link); err != nil {
		t.Fatal(err)
	}
	if err := s.Save(link); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(path)
	if err != nil || !strings.HasPrefix(string(text), "user default ") {
		t.Errorf("the file behind the link: %q, %v", text, err)
	}
	if info, err := os.Lstat(link); err != nil || info.Mode()&os.ModeSymlink == 0 {
		t.Errorf("the link: %v, %v", info, err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o640 {
		t.Errorf("permissions: %v, %v", info, err)
	}
	fresh := filepath.Join(t.TempDir(), "fresh")
	if err := s.Save(fresh); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(fresh); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("permissions of a new file: %v, %v", info, err)
	}
	for _, dir := range []string{filepath.Dir(path), filepath.Dir(fresh)} {
		if entries, err := os.ReadDir(dir); err != nil || len(entries) != 1 {
			t.Errorf("%s holds %v, %v", dir, entries, err)
		}
	}
}

func TestSave_LeavesTheFileOnFailure(t *testing.T) {
	dir := t.TempDir()
	target := filepath.Join(dir, "folder")
	if err := os.Mkdir(target, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := newTestStore().Save(target); err == nil {
		t.Error("a folder is replaced")
	}
	if err := newTestStore().Save(filepath.Join(dir, "none", "file")); err == nil {
		t.Error("a file is written to a folder that does not exist")
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 1 {
		t.Errorf("left behind: %v, %v", entries, err)
	}
}

func TestSetConfigured(t *testing.T) {
	s := newTestStore()
	s.SetDefaultPassword("x")
	err := s.SetConfigured([][]string{{"alice", "on", ">p", "(+ping", "&a)"}, {"default", "on", "nopass", "+ping"}, {"empty"}})
	if err != nil {
		t.Fatal(err)
	}
	want := "alice on sanitize-payload #148de9c5a7a44d19e56cd9ae1a554bf67847afb0c58f6e12fa29ac7ddfca9940 resetchannels -@all (resetchannels &a -@all +ping)\n" +
		"default on nopass sanitize-payload resetchannels -@all +ping\n" +
		"empty off sanitize-payload resetchannels -@all\n"
	if got := list(s); got != want {
		t.Errorf("\n got %q\nwant %q", got, want)
	}
	for _, c := range []struct {
		lines [][]string
		want  string
	}{
		{[][]string{{"a"}, {"a"}}, "user 'a': Duplicate user found. A user can only be defined once in config files"},
		{[][]string{{"a b"}}, "Usernames can't contain spaces or null characters"},
		{[][]string{{"a", "+foo"}}, "Error loading ACL rule '+foo' for the user named 'a': Unknown command or category name in ACL"},
		{[][]string{{"a", "<secret"}}, "Error loading ACL rule '<(redacted)' for the user named 'a': The password you are trying to remove from the user does not exist"},
		{[][]string{{"a", "#secret"}}, "Error loading ACL rule '#(redacted)' for the user named 'a': The password hash must be exactly 64 characters and contain only lowercase hexadecimal characters"},
		{[][]string{{"a", "(+ping"}}, "user 'a': Unmatched parenthesis in acl selector starting at '(+ping'."},
	} {
		if err := newTestStore().SetConfigured(c.lines); err == nil || err.Error() != c.want {
			t.Errorf("%q: %v, want %s", c.lines, err, c.want)
		}
	}
}
