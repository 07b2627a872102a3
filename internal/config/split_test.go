package config

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

func TestSplitArgs(t *testing.T) {
	for _, tc := range []struct {
		line string
		want []string // nil: unbalanced quotes
	}{
		{"port 6379", []string{"port", "6379"}},
		{"  port\t 6379 \r\n", []string{"port", "6379"}},
		{"", []string{}},
		{" \v\f", []string{}},
		{`a "" ''`, []string{"a", "", ""}},
		{`a "b c" 'd e'`, []string{"a", "b c", "d e"}},
		{`a b"c d"`, []string{"a", "bc d"}},
		{`a b'c d'`, []string{"a", "bc d"}},
		{`"a\nb\rc\td\be\af"`, []string{"a\nb\rc\td\be\af"}},
		{`"\x41\xfF\x0g\x4"`, []string{"A\xffx0gx4"}},
		{`"\"\\\q"`, []string{`"\q`}},
		{`'\'\n\\"'`, []string{`'\n\\"`}},
		{`a\nb \"`, nil},
		{`a\nb\ c`, []string{`a\nb\`, "c"}},
		{`a # b`, []string{"a", "#", "b"}},
		{"a\vb\fc d", []string{"a\vb\fc", "d"}},
		{"\va", []string{"a"}},
		{"\"a\"\vb", []string{"a", "b"}},
		{`"a"b`, nil},
		{`'a'b`, nil},
		{`"a""b"`, nil},
		{`"a`, nil},
		{`'a`, nil},
		{`"a\"`, nil},
		{`"a\`, nil},
		{`'a\'`, nil},
		{`a"`, nil},
		{"\xff\x80 \xc3\xa4", []string{"\xff\x80", "\xc3\xa4"}},
	} {
		got, err := splitArgs(tc.line)
		switch {
		case tc.want == nil:
			if !errors.Is(err, errUnbalanced) {
				t.Errorf("splitArgs(%q) = %q, %v, want unbalanced quotes", tc.line, got, err)
			}
		case err != nil || len(got) != len(tc.want) || len(got) > 0 && !reflect.DeepEqual(got, tc.want):
			t.Errorf("splitArgs(%q) = %q, %v, want %q", tc.line, got, err, tc.want)
		}
	}
}

// The real server reads the same words from the same lines. masterauth takes
// any bytes and CONFIG GET gives them back.
func TestSplitArgs_AsRedis(t *testing.T) {
	server := redisServer(t)
	for _, value := range []string{
		`plain`, `""`, `''`, `"b c"`, `'b c'`, `x"b c"`, `x'b c'`, `x"y"z`, `"a"b`, `"a" b`, "\"a\"\v", "a\vb", "\va", "\fa\f",
		`"\n\r\t\b\a\q\\\""`, `"\x41\xfF\x0g\x4"`, `"\x4`, `'\'\n\\'`, `a\nb`, `a\ b`, `"a`, `'a`, `"a\"`, `"a\`, `'a\'`, `a"`, `a'`,
		"\xff\x80", `"\x20x"`, `a#b`, `#a`, `a #`, `"`, `'`, `""""`,
	} {
		line := "masterauth " + value
		got, err := splitArgs(strings.Trim(line, " \t\r\n"))
		dir := t.TempDir()
		socket, conf := filepath.Join(dir, "s"), filepath.Join(dir, "redis.conf")
		if err := os.WriteFile(conf, []byte(line+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		if err == nil && len(got) == 2 {
			args := []string{conf, "--port", "0", "--unixsocket", socket}
			if want := redisConfig(t, server, args, socket, []string{"masterauth"})["masterauth"]; got[1] != want {
				t.Errorf("%q: value %q, on redis-server %q", line, got[1], want)
			}
			continue
		}
		out, exitErr := exec.CommandContext(t.Context(), server, conf, "--port", "0").CombinedOutput()
		complaint := "wrong number of arguments"
		if err != nil {
			complaint = err.Error()
		}
		if exitErr == nil || !bytes.HasSuffix(bytes.TrimSpace(out), []byte(complaint)) {
			t.Errorf("%q: %q, %v; redis-server says %v, %s", line, got, err, exitErr, out)
		}
	}
}

// quoted writes words so that splitArgs reads them again.
func quoted(words []string) string {
	var b strings.Builder
	for i, w := range words {
		if i > 0 {
			b.WriteByte(' ')
		}
		b.WriteByte('"')
		for _, c := range []byte(w) {
			fmt.Fprintf(&b, `\x%02x`, c)
		}
		b.WriteByte('"')
	}
	return b.String()
}

func FuzzSplitArgs(f *testing.F) {
	for _, line := range []string{
		"", "port 6379", `a "b\x41\n\"" 'c\'d' e"f g"`, `"a"b`, `"\`, `'\`, "a\vb \f\"c\"\v", `""`,
	} {
		f.Add(line)
	}
	f.Fuzz(func(t *testing.T, line string) {
		words, err := splitArgs(line)
		if err != nil {
			if !errors.Is(err, errUnbalanced) {
				t.Errorf("error %v", err)
			}
			return
		}
		size := 0
		for _, w := range words {
			size += len(w)
		}
		if size > len(line) {
			t.Errorf("%d bytes of words from a line of %d", size, len(line))
		}
		again, err := splitArgs(quoted(words))
		if err != nil || len(again) != len(words) || len(words) > 0 && !reflect.DeepEqual(again, words) {
			t.Errorf("%q: read %q, quoted and read again %q (%v)", line, words, again, err)
		}
	})
}
