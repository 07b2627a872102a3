package tools

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"broker/integration/harness"
	"broker/internal/cli"
)

// realCLI runs Redis's own redis-cli.
func realCLI(t *testing.T, env []string, stdin string, args ...string) outcome {
	t.Helper()
	var stdout, stderr bytes.Buffer
	cmd := exec.CommandContext(t.Context(), harness.Program(t, "redis-cli"), args...)
	cmd.Env = append(os.Environ(), env...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(stdin), &stdout, &stderr
	var exit *exec.ExitError
	if err := cmd.Run(); err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return outcome{cmd.ProcessState.ExitCode(), stdout.String(), stderr.String()}
}

func ourCLI(t *testing.T, env []string, stdin string, args ...string) outcome {
	t.Helper()
	var stdout, stderr bytes.Buffer
	choice := cli.Choose(append([]string{"redis-cli"}, args...))
	status := choice.Tool.Run(t.Context(), &cli.Process{
		Args: choice.Args, Env: env, Stdin: strings.NewReader(stdin), Stdout: &stdout, Stderr: &stderr,
	})
	return outcome{status, stdout.String(), stderr.String()}
}

// What scripts see of redis-cli they see of ours.
func TestRedisCLI_WritesWhatTheRealOneWrites(t *testing.T) {
	b := startBroker(t)
	for _, tc := range []struct {
		stdin string
		args  []string
	}{
		{args: []string{"ping"}},
		{args: []string{"PING", "a b\nc"}},
		{args: []string{"echo", ""}},
		{args: []string{"publish", "ch", "x"}},
		{args: []string{"get", "missing"}},
		{args: []string{"mget", "a", "b", "c"}},
		{args: []string{"scan", "0"}},
		{args: []string{"nope", "x"}},
		{args: []string{"-e", "nope", "x"}},
		{args: []string{"-e", "ping"}},
		{args: []string{"publish"}},
		{args: []string{"-n", "3", "ping"}},
		{args: []string{"--raw", "pubsub", "numsub", "a", "b"}},
		{args: []string{"-3", "pubsub", "numsub", "a", "b"}},
		{args: []string{"-3", "config", "get", "data*"}},
		{args: []string{"-2", "config", "get", "data*"}},
		{args: []string{"-3", "info", "keyspace"}},
		{args: []string{"-3", "get", "missing"}},
		{args: []string{"-3", "info", "nope"}},
		{args: []string{"info", "keyspace", "cluster"}},
		{args: []string{"latency", "doctor"}},
		{args: []string{"memory", "doctor"}},
		{args: []string{"cluster", "info"}},
		{args: []string{"command", "info", "ping", "nope"}},
		{args: []string{"-3", "command", "info", "ping", "nope"}},
		{args: []string{"unsubscribe"}},
		{args: []string{"-x", "echo"}, stdin: "from\nstdin\n"},
		{args: nil, stdin: "ping\n\n  echo 'a b' \nnope\nECHO \"x\\x41\\n\"\n"},
		{args: nil, stdin: "ping\nquit\nping\n"},
		{args: nil, stdin: "ping"},
		{args: []string{"config", "get", "port"}},
		{args: []string{"-u", "redis://127.0.0.1:" + b.Port() + "/2", "echo", "uri"}},
	} {
		args := append([]string{"-p", b.Port()}, tc.args...)
		real, ours := realCLI(t, nil, tc.stdin, args...), ourCLI(t, nil, tc.stdin, args...)
		if ours != real {
			t.Errorf("%q < %q:\n%+v\nwant\n%+v", tc.args, tc.stdin, ours, real)
		}
	}
}

func TestRedisCLI_NobodyListens(t *testing.T) {
	b := startBroker(t)
	b.Stop()
	args := []string{"-p", b.Port(), "ping"}
	if real, ours := realCLI(t, nil, "", args...), ourCLI(t, nil, "", args...); ours != real {
		t.Errorf("%+v\nwant %+v", ours, real)
	}
	args = []string{"-s", t.TempDir() + "/none", "ping"}
	if real, ours := realCLI(t, nil, "", args...), ourCLI(t, nil, "", args...); ours != real {
		t.Errorf("%+v\nwant %+v", ours, real)
	}
}

// SUBSCRIBE goes on until there are enough messages for the reader.
func TestRedisCLI_SubscribesUntilTheConnectionEnds(t *testing.T) {
	b := startBroker(t)
	sub := start(t, nil, "redis-cli", "-p", b.Port(), "subscribe", "a", "b")
	sub.stdout.wait(t, "subscribe\nb\n2\n")
	publish(t, b.Dial(t), "b", "hello")
	sub.stdout.wait(t, "message\nb\nhello\n")
	sub.cancel()
	if got, want := sub.end(t), (outcome{0, "subscribe\na\n1\nsubscribe\nb\n2\nmessage\nb\nhello\n", ""}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
}

func TestRedisCLI_UnknownFlagIsAnErrorThatNamesIt(t *testing.T) {
	got := ourCLI(t, nil, "", "--bigkeys")
	if got.status != 1 || !strings.Contains(got.stderr, "-bigkeys") || strings.Count(got.stderr, "\n") != 1 {
		t.Errorf("%+v", got)
	}
	got = ourCLI(t, nil, "", "--version")
	if want := fmt.Sprintf("redis-cli %s (broker %s)\n", "", ""); got.stdout != want {
		t.Errorf("%+v", got)
	}
}
