package cli

import (
	"os/exec"
	"slices"
	"strings"
	"testing"

	"broker/internal/config"
)

// complete asks bash what it would offer for the last word of a command line.
func complete(t *testing.T, words ...string) []string {
	t.Helper()
	const program = `eval "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _broker; printf '%s\n' "${COMPREPLY[@]}"`
	args := append([]string{"--norc", "-c", program, "bash", runTool(t, "", nil, "completion", "bash").stdout}, words...)
	cmd := exec.CommandContext(t.Context(), "bash", args...)
	cmd.Dir = t.TempDir()
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return strings.Fields(string(out))
}

func TestCompletion_Bash(t *testing.T) {
	if _, err := exec.LookPath("bash"); err != nil {
		t.Skip("no bash")
	}
	for _, tc := range []struct {
		words, want string
	}{
		{"broker pi", "ping"},
		{"broker redis", "redis-cli"},
		{"broker --unix", "--unixsocket --unixsocketperm"},
		{"broker ping --cacert", "--cacert --cacertdir"},
		{"broker ping --unix", ""},
		{"broker pub --ra", "--rate"},
		{"broker check --port", "--port"},
		{"broker help pu", "pub"},
		{"broker completion z", "zsh"},
		{"broker /etc/x.conf --databa", "--databases"},
	} {
		if got := strings.Join(complete(t, strings.Fields(tc.words)...), " "); got != tc.want {
			t.Errorf("%s: %q, want %q", tc.words, got, tc.want)
		}
	}
	all := complete(t, "broker", "")
	c := config.Default()
	for _, p := range c.Get("*") {
		if !slices.Contains(all, "--"+p.Name) {
			t.Errorf("%s is not offered", p.Name)
		}
	}
}

func TestCompletion_OtherShells(t *testing.T) {
	if got := runTool(t, "", nil, "completion", "zsh"); got.status != 0 || !strings.HasPrefix(got.stdout, "#compdef broker\n") {
		t.Errorf("%+v", got)
	}
	for _, args := range [][]string{nil, {"fish"}, {"bash", "zsh"}} {
		if got := runTool(t, "", nil, "completion", args...); got.status != 1 || got.stdout != "" {
			t.Errorf("%q: %+v", args, got)
		}
	}
}

func TestMan_IsMan7AndNamesEverything(t *testing.T) {
	text := runTool(t, "", nil, "man").stdout
	known := []string{".TH", ".SH", ".SS", ".TP", ".B", ".br", ".nf", ".fi"}
	for line := range strings.Lines(text) {
		if request, _, _ := strings.Cut(strings.TrimSpace(line), " "); strings.HasPrefix(line, ".") && !slices.Contains(known, request) {
			t.Errorf("request %q", line)
		}
		if strings.HasPrefix(line, "'") {
			t.Errorf("%q would be a request", line)
		}
	}
	for _, tool := range tools() {
		if !strings.Contains(text, "\n.SS "+roff(tool.name)+"\n") {
			t.Errorf("%s is not described", tool.name)
		}
	}
	for _, want := range []string{"--maxclients N", "-p PORT", "--slow-subscriber-policy"} {
		if !strings.Contains(text, roff(want)) {
			t.Errorf("no %s", want)
		}
	}
	for in, want := range map[string]string{`a\b`: `a\eb`, "--x": `\-\-x`, ".SH": `\&.SH`, "'x": `\&'x`} {
		if got := roff(in); got != want {
			t.Errorf("roff(%q) = %q, want %q", in, got, want)
		}
	}
}
