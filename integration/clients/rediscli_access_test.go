package clients

import (
	"fmt"
	"strings"
	"testing"
)

// accessArgs returns the options with which redis-cli comes in.
func (e entrance) accessArgs() []string {
	args := []string{"-h", "127.0.0.1", "-p", e.port, "--no-auth-warning"}
	if e.user != "" {
		args = append(args, "--user", e.user)
	}
	if e.password != "" {
		args = append(args, "--pass", e.password)
	}
	if e.tls {
		args = append(args, "--tls", "--cacert", e.ca)
	}
	return args
}

func TestRedisCLI_WaysIn(t *testing.T) {
	for _, s := range []server{redisServer, brokerBinary} {
		for _, a := range everyAccess {
			for _, proto := range []string{"-2", "-3"} {
				t.Run(fmt.Sprintf("%s/%s/%s", s.name, a.name, proto), func(t *testing.T) {
					e := a.enter(t, s)
					// Of two options for the same thing the last counts.
					args := append(e.accessArgs(), proto)
					next := follow(t, e.Target, append(args, "subscribe", "news")...)
					expectLines(t, next, "subscribe", "news", "1")

					// -x takes the last argument from standard input.
					publish := tool(t, patient(t), e.Target, "redis-cli", append(args, "-x", "publish", "news")...)
					publish.Stdin = strings.NewReader(mebibyte[:1<<20-1])
					if out, err := publish.CombinedOutput(); err != nil || string(out) != "1\n" {
						t.Fatalf("publish printed %q, %v", out, err)
					}
					expectLines(t, next, "message", "news")
					for i, want := range strings.Split(strings.TrimSuffix(mebibyte, "\n"), "\n") {
						if got := next(); got != want {
							t.Fatalf("line %d of the payload is %q, want %q", i, got, want)
						}
					}

					user := a.user
					if user == "" {
						user = "default"
					}
					if got := cli(t, e.Target, append(args, "client", "info")...); !strings.Contains(got, " user="+user+" ") {
						t.Errorf("client info printed %q", got)
					}
				})
			}
		}
	}
}

func TestRedisCLI_WrongPassword(t *testing.T) {
	for _, s := range []server{redisServer, brokerBinary} {
		t.Run(s.name, func(t *testing.T) {
			e := withUser.enter(t, s)
			out, err := tool(t, patient(t), e.Target, "redis-cli",
				"--no-auth-warning", "--user", e.user, "--pass", "not "+e.password, "ping").CombinedOutput()
			if !strings.HasPrefix(string(out), "AUTH failed: WRONGPASS ") {
				t.Errorf("redis-cli printed %q, %v", out, err)
			}
		})
	}
}
