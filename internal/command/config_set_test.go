package command

import (
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"broker/shard"
)

// setter stands for the configuration behind CONFIG SET.
func setter(calls *[][][2]string, err error) func(*Config) {
	return func(cfg *Config) {
		cfg.SetParams = func(pairs [][2]string) error {
			*calls = append(*calls, pairs)
			return err
		}
	}
}

func TestConfigSet_PassesPairsOnAndAnswersOK(t *testing.T) {
	var calls [][][2]string
	var applied atomic.Int64
	srv := startServer(t, 3, setter(&calls, nil), func(cfg *Config) {
		cfg.Apply = func(*shard.Loop) { applied.Add(1) }
	})
	c := srv.dial()
	if got := c.do("config", "SET", "Timeout", "5", "requirepass", "a\r\nb"); got != "+OK\r\n" {
		t.Errorf("reply %q", got)
	}
	if n := applied.Load(); n != 3 {
		t.Errorf("answered when %d of 3 loops had applied the change", n)
	}
	if got := fmt.Sprintf("%q", calls); got != `[[["Timeout" "5"] ["requirepass" "a\r\nb"]]]` {
		t.Errorf("passed on %s", got)
	}
}

func TestConfigSet_MistakesArePassedOnToNobody(t *testing.T) {
	var calls [][][2]string
	srv := startServer(t, 1, setter(&calls, nil))
	c := srv.dial()
	for _, tc := range []struct {
		words []string
		want  string
	}{
		{[]string{"CONFIG", "SET"}, "-ERR wrong number of arguments for 'config|set' command\r\n"},
		{[]string{"CONFIG", "SET", "timeout"}, "-ERR wrong number of arguments for 'config|set' command\r\n"},
		{[]string{"CONFIG", "SET", "timeout", "1", "port"}, "-ERR syntax error\r\n"},
		{append([]string{"CONFIG", "SET"}, strings.Fields(strings.Repeat("timeout 1 ", maxNames+1))...),
			"-" + errTooManyNames + "\r\n"},
	} {
		if got := c.do(tc.words...); got != tc.want {
			t.Errorf("%.60q: %q, want %q", tc.words, got, tc.want)
		}
	}
	if len(calls) != 0 {
		t.Errorf("passed on %q", calls)
	}
}

func TestConfigSet_ErrorsAreAnsweredAndCounted(t *testing.T) {
	var calls [][][2]string
	srv := startServer(t, 2, setter(&calls, errors.New("ERR CONFIG SET failed (possibly related to argument 'x') - no")), func(cfg *Config) {
		cfg.RewriteParams = func() error { return errors.New("ERR Rewriting config file: no") }
		cfg.Apply = func(*shard.Loop) { t.Error("a change that was refused is applied") }
	})
	c := srv.dial()
	if got := c.do("CONFIG", "SET", "x", "1"); got != "-ERR CONFIG SET failed (possibly related to argument 'x') - no\r\n" {
		t.Errorf("reply %q", got)
	}
	if got := c.do("CONFIG", "REWRITE"); got != "-ERR Rewriting config file: no\r\n" {
		t.Errorf("reply %q", got)
	}
	stats := c.do("INFO", "commandstats")
	for _, name := range []string{"config|set", "config|rewrite"} {
		_, line, _ := strings.Cut(stats, "cmdstat_"+name+":")
		line, _, _ = strings.Cut(line, "\r\n")
		if !strings.HasPrefix(line, "calls=1,") || !strings.HasSuffix(line, ",rejected_calls=0,failed_calls=1") {
			t.Errorf("%s is counted as %q", name, line)
		}
	}
}

func TestConfigSet_WithoutAConfiguration(t *testing.T) {
	c := startServer(t, 1).dial()
	if got := c.do("CONFIG", "SET", "x", "1"); got != "-ERR Unknown option or number of arguments for CONFIG SET - 'x'\r\n" {
		t.Errorf("CONFIG SET: %q", got)
	}
	if got := c.do("CONFIG", "REWRITE"); got != "-ERR The server is running without a config file\r\n" {
		t.Errorf("CONFIG REWRITE: %q", got)
	}
}

// A change that takes long holds up the client that asked for it and nobody
// else, not even on its own loop.
func TestConfigSet_BlocksOnlyItsClient(t *testing.T) {
	release, entered := make(chan struct{}), make(chan struct{})
	srv := startServer(t, 1, func(cfg *Config) {
		cfg.SetParams = func([][2]string) error {
			close(entered)
			<-release
			return nil
		}
	})
	admin, other := srv.dial(), srv.dial()
	admin.send("CONFIG", "SET", "bind", "slow.example")
	admin.send("ECHO", "after")
	<-entered
	for range 3 {
		if got := other.do("PING"); got != "+PONG\r\n" {
			t.Errorf("reply %q", got)
		}
	}
	close(release)
	if got := admin.read() + admin.read(); got != "+OK\r\n$5\r\nafter\r\n" {
		t.Errorf("replies %q", got)
	}
}

// Whoever is shown what was set sees that a password was, and not which.
func TestConfigSet_SecretsAreHidden(t *testing.T) {
	row := lookup(newTable().index, []byte("config"))
	row = lookup(row.index, []byte("set"))
	words := strings.Fields("CONFIG SET timeout 7 RequirePass hunter2 masterauth hunter2 tls-key-file-pass hunter2 nosuch x odd")
	args := make([][]byte, len(words))
	for i, w := range words {
		args[i] = []byte(w)
	}
	shown := fmt.Sprintf("%s", shownArgs(row, args))
	want := "[CONFIG SET timeout 7 RequirePass (redacted) masterauth (redacted) tls-key-file-pass (redacted) nosuch x odd]"
	if shown != want {
		t.Errorf("shown %s\nwant  %s", shown, want)
	}
	if string(args[5]) != "hunter2" {
		t.Error("the command's own arguments were overwritten")
	}
}
