package acl

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

// Load makes the users those of a file. A user who is not in it is deleted;
// the default user gets back the rules of a new store. When one line is
// refused, nothing changes. It returns what happened to every user whose rules
// are other ones now. It blocks until the file is read.
//
// The text of an error is Redis's reply, without "ERR ": it lists what is wrong
// with which line, and shows no passwords.
func (s *Store) Load(path string) ([]Change, error) {
	s.fileTurn <- struct{}{}
	defer func() { <-s.fileTurn }()
	text, err := readFile(path)
	if err != nil {
		return nil, fmt.Errorf("Error loading ACLs, opening file '%s': %s", path, systemText(err))
	}
	s.mu.Lock()
	allChannels := s.allChannels
	s.mu.Unlock()
	users, report := s.parseFile(path, text, allChannels)
	if report != "" {
		return nil, errors.New(report + "WARNING: ACL errors detected, no change to the previously active ACL rules was performed")
	}
	return s.replaceAll(users), nil
}

// parseFile returns the users that a file's text describes, and what is wrong
// with it.
func (s *Store) parseFile(path, text string, allChannels bool) (users map[string]*Rules, report string) {
	users = map[string]*Rules{}
	var problems strings.Builder
	number := 0
	for line := range strings.SplitSeq(text, "\n") {
		number++
		line = strings.Trim(line, " \t\r\n")
		if line == "" {
			continue
		}
		words := strings.Split(line, " ")
		switch {
		case words[0] != "user" || len(words) < 2:
			fmt.Fprintf(&problems, "%s:%d should start with user keyword followed by the username. ", path, number)
		case hasSpaceOrNUL(words[1]):
			fmt.Fprintf(&problems, "'%s:%d: username '%s' contains invalid characters. ", path, number, cString(words[1]))
		case users[words[1]] != nil:
			fmt.Fprintf(&problems, "WARNING: Duplicate user '%s' found on line %d. ", words[1], number)
		default:
			b := newBuilder(s.catalogue, allChannels)
			b.applyLine(words[2:], fmt.Sprintf("%s:%d: ", path, number), &problems)
			users[words[1]] = b.build()
		}
		if problems.Len() > maxReportBytes {
			problems.WriteString("(and more). ")
			break
		}
	}
	return users, problems.String()
}

// applyLine applies the rules of a line of a file. What is wrong goes to
// problems, each behind the place: every name that is not known, which is no
// secret, and the first of other mistakes, without the rule.
func (b *builder) applyLine(words []string, place string, problems *strings.Builder) {
	rules, err := mergeSelectors(words)
	if err != nil {
		problems.WriteString(place + "Unmatched parenthesis in selector definition. ")
		return
	}
	other := false
	for _, rule := range rules {
		rule = strings.Trim(rule, "\t\r\n")
		err := b.apply(rule)
		switch {
		case errors.Is(err, errUnknownName):
			fmt.Fprintf(problems, "%sError in applying operation '%s': %s. ", place, cString(rule), err)
		case err != nil && !other:
			other = true
			problems.WriteString(place + err.Error() + ". ")
		}
	}
}

// replaceAll makes the users of the map all there are.
func (s *Store) replaceAll(users map[string]*Rules) []Change {
	if users[DefaultName] == nil {
		users[DefaultName] = s.catalogue.defaultRules()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	var changes []Change
	s.users.Range(func(_, v any) bool {
		if u := v.(*User); users[u.name] == nil {
			changes = append(changes, s.deleteLocked(u))
		}
		return true
	})
	for name, rules := range users {
		u := s.Lookup(name)
		if u == nil {
			u = &User{name: name}
		}
		changes = append(changes, s.installLocked(u, rules))
	}
	return changes
}

// SetConfigured gives the users of a configuration their rules: each line is a
// name and its rules. A user who exists loses those he had. It is for the start:
// when a line is refused, those before it are in force.
func (s *Store) SetConfigured(lines [][]string) error {
	seen := map[string]struct{}{}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, line := range lines {
		name := line[0]
		if hasSpaceOrNUL(name) {
			return ErrUserName
		}
		if _, twice := seen[name]; twice {
			return fmt.Errorf("user '%s': Duplicate user found. A user can only be defined once in config files", name)
		}
		seen[name] = struct{}{}
		u := s.Lookup(name)
		if u == nil {
			u = &User{name: name}
		}
		_, err := s.changeLocked(u, newBuilder(s.catalogue, s.allChannels), line[1:])
		var refused *ruleError
		switch {
		case errors.As(err, &refused):
			return fmt.Errorf("Error loading ACL rule '%s' for the user named '%s': %w", shown(refused.rule), name, refused.reason)
		case err != nil:
			return fmt.Errorf("user '%s': %w", name, err)
		}
	}
	return nil
}

// shown returns a rule as a log may show it.
func shown(rule string) string {
	if strings.IndexByte("><#!", rule[0]) >= 0 {
		return rule[:1] + "(redacted)"
	}
	return cString(rule)
}

// Lines returns the users in the form of SetConfigured, in the order of their
// names.
func (s *Store) Lines() [][]string {
	var lines [][]string
	for _, u := range s.Users() {
		lines = append(lines, append([]string{u.name}, u.Rules().words()...))
	}
	return lines
}

// Save writes the users to a file, from which Load makes them again. The file
// is replaced as a whole or stays as it was. It blocks until the new file is on
// disk.
func (s *Store) Save(path string) error {
	s.fileTurn <- struct{}{}
	defer func() { <-s.fileTurn }()
	var text strings.Builder
	for _, u := range s.usersNow() {
		text.WriteString("user ")
		text.WriteString(u.name)
		text.WriteByte(' ')
		text.WriteString(u.rules.String())
		text.WriteByte('\n')
	}
	return replaceFile(path, text.String())
}

type namedRules struct {
	name  string
	rules *Rules
}

// usersNow returns all users as they are at one moment, by name.
func (s *Store) usersNow() []namedRules {
	var list []namedRules
	s.mu.Lock()
	s.users.Range(func(_, v any) bool {
		u := v.(*User)
		list = append(list, namedRules{u.name, u.Rules()})
		return true
	})
	s.mu.Unlock()
	slices.SortFunc(list, func(a, b namedRules) int { return strings.Compare(a.name, b.name) })
	return list
}

func readFile(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	info, err := f.Stat()
	switch {
	case err != nil:
		return "", err
	case !info.Mode().IsRegular():
		return "", syscall.EINVAL // reading a pipe or a terminal could block for ever
	}
	text, err := io.ReadAll(io.LimitReader(f, maxFileBytes+1))
	if err == nil && len(text) > maxFileBytes {
		err = syscall.EFBIG
	}
	return string(text), err
}

// replaceFile gives a file a new content. A link stays one, permissions stay
// what they are; a new file is for its owner only, as it holds hashes of
// passwords.
func replaceFile(path, text string) (err error) {
	if target, err := filepath.EvalSymlinks(path); err == nil {
		path = target
	}
	perm := fs.FileMode(0o600)
	if info, err := os.Stat(path); err == nil {
		perm = info.Mode().Perm()
	}
	f, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".tmp-*")
	if err != nil {
		return fmt.Errorf("create a temporary ACL file: %w", err)
	}
	defer func() {
		if err != nil {
			os.Remove(f.Name())
		}
	}()
	_, err = f.WriteString(text)
	if err == nil {
		err = f.Chmod(perm)
	}
	if err == nil {
		err = f.Sync()
	}
	if closed := f.Close(); err == nil {
		err = closed
	}
	if err != nil {
		return fmt.Errorf("write the ACL file: %w", err)
	}
	if err = os.Rename(f.Name(), path); err != nil {
		return fmt.Errorf("replace the ACL file: %w", err)
	}
	dir, err := os.Open(filepath.Dir(path))
	if err != nil {
		return fmt.Errorf("sync the ACL file's folder: %w", err)
	}
	defer dir.Close()
	if err = dir.Sync(); err != nil {
		return fmt.Errorf("sync the ACL file's folder: %w", err)
	}
	return nil
}

// systemText returns what the system says about an error, spelled as C does.
func systemText(err error) string {
	var errno syscall.Errno
	if !errors.As(err, &errno) {
		return err.Error()
	}
	text := errno.Error()
	return strings.ToUpper(text[:1]) + text[1:]
}
