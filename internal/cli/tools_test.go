package cli

import (
	"errors"
	"net"
	"reflect"
	"strings"
	"testing"

	"broker/internal/config"
)

func TestChoose(t *testing.T) {
	for _, tc := range []struct {
		argv    string
		tool    string // "": serve
		args    string
		asRedis bool
	}{
		{argv: ""},
		{argv: "broker"},
		{argv: "broker serve"},
		{argv: "broker serve --port 1", args: "--port 1"},
		{argv: "broker /etc/broker.conf --port 1", args: "/etc/broker.conf --port 1"},
		{argv: "broker ./ping", args: "./ping"},
		{argv: "broker --port 1 ping", args: "--port 1 ping"},
		{argv: "broker ping -p 1", tool: "ping", args: "-p 1"},
		{argv: "broker redis-server --port 1", args: "--port 1", asRedis: true},
		{argv: "broker redis-cli ping", tool: "redis-cli", args: "ping"},
		{argv: "/usr/bin/redis-server ping", args: "ping", asRedis: true},
		{argv: "valkey-server - --port 1", args: "- --port 1", asRedis: true},
		{argv: "./redis-cli ping", tool: "redis-cli", args: "ping"},
		{argv: "redis-cli", tool: "redis-cli"},
		{argv: "valkey-cli sub", tool: "redis-cli", args: "sub"},
	} {
		got := Choose(strings.Fields(tc.argv))
		name := ""
		if got.Tool != nil {
			name = got.Tool.name
		}
		if args := strings.Join(got.Args, " "); name != tc.tool || args != tc.args || got.AsRedis != tc.asRedis {
			t.Errorf("%q: tool %q, args %q, as redis %v", tc.argv, name, args, got.AsRedis)
		}
	}
}

func TestHelp_NamesEveryToolAndFlag(t *testing.T) {
	all := runTool(t, "", nil, "help")
	for _, tool := range tools() {
		if !strings.Contains(all.stdout, "\n  "+tool.name+" ") {
			t.Errorf("help does not name %s", tool.name)
		}
		one := runTool(t, "", nil, "help", tool.name)
		if one.status != 0 || !strings.HasPrefix(one.stdout, "Usage: broker "+tool.name) {
			t.Errorf("help %s: %+v", tool.name, one)
		}
		if tool.flags == nil {
			continue
		}
		if got := runTool(t, "", nil, tool.name, "--help"); got != one {
			t.Errorf("%s --help: %+v, want %+v", tool.name, got, one)
		}
		if !strings.Contains(one.stdout, "\n  --insecure ") {
			t.Errorf("help %s does not show --insecure:\n%s", tool.name, one.stdout)
		}
	}
	if got := runTool(t, "", nil, "help", "nope"); got.status != 1 || got.stdout != "" {
		t.Errorf("help nope: %+v", got)
	}
}

func TestUsageErrors_AreOneLineWithStatus1(t *testing.T) {
	for args, want := range map[string]string{
		"ping a b":                "more than one message",
		"ping -p":                 "flag needs an argument: -p; see broker help ping",
		"ping --nope":             "flag provided but not defined: -nope",
		"ping -n x":               "invalid value",
		"sub":                     "no channel",
		"sub --pattern --shard a": "no patterns of shard channels",
		"sub --count -1 a":        "negative",
		"sub --format xml a":      "must be line, json or raw",
		"pub":                     "no channel",
		"pub a b c":               "more than one message",
		"pub --rate -1 a b":       "rate must be",
		"pub --rate nan a b":      "rate must be",
		"pub --count -1 a b":      "negative",
		"pub --format raw a":      "no beginning and end",
		"ping -u http://x":        "begins with redis://",
		"ping -u redis://h/x":     "is a number",
		"ping -u redis://%zz":     "cannot be parsed",
	} {
		fields := strings.Fields(args)
		got := runTool(t, "", nil, fields[0], fields[1:]...)
		if got.status != 1 || got.stdout != "" || strings.Count(got.stderr, "\n") != 1 ||
			!strings.HasPrefix(got.stderr, "broker "+fields[0]+": ") || !strings.Contains(got.stderr, want) {
			t.Errorf("%s: %+v, want one line with %q", args, got, want)
		}
	}
}

func TestPing(t *testing.T) {
	answers := map[string]string{
		"alive":    "+PONG\r\n",
		"password": "-NOAUTH Authentication required.\r\n",
		"loading":  "-LOADING not yet\r\n",
		"other":    "+HELLO\r\n",
		"http":     "HTTP/1.1 400 Bad Request\r\n\r\n",
		"gone":     "close",
		"silent":   "",
		"wrong":    "-WRONGPASS invalid\r\n",
	}
	for _, tc := range []struct {
		answer, args string
		want         outcome // stderr: a part of it
	}{
		{"alive", "", outcome{0, "PONG\n", ""}},
		{"password", "", outcome{0, "", "wants a password"}},
		{"password", "-a secret", outcome{1, "", "AUTH: NOAUTH"}},
		{"wrong", "-a secret --user me", outcome{1, "", "AUTH: WRONGPASS"}},
		{"loading", "", outcome{1, "", "LOADING not yet"}},
		{"other", "", outcome{1, "", "unexpected answer"}},
		{"http", "", outcome{1, "", "does not speak the Redis protocol"}},
		{"gone", "", outcome{1, "", "EOF"}},
		{"silent", "--timeout 20ms", outcome{1, "", "timeout"}},
	} {
		f := startFake(t, func([]string) string { return answers[tc.answer] })
		got := runTool(t, "", nil, "ping", append([]string{"-p", f.port}, strings.Fields(tc.args)...)...)
		if got.status != tc.want.status || got.stdout != tc.want.stdout || !strings.Contains(got.stderr, tc.want.stderr) {
			t.Errorf("%s %s: %+v, want %+v", tc.answer, tc.args, got, tc.want)
		}
	}
}

func TestPing_NobodyListens(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_, port, _ := net.SplitHostPort(l.Addr().String())
	l.Close()
	if got := runTool(t, "", nil, "ping", "-p", port); got.status != 1 || !strings.Contains(got.stderr, "refused") {
		t.Errorf("%+v", got)
	}
}

func TestHandshake_SendsWhatIsAskedFor(t *testing.T) {
	for args, want := range map[string][]string{
		"":                       {"PING"},
		"-a pw":                  {"AUTH pw", "PING"},
		"--user me --pass pw":    {"AUTH me pw", "PING"},
		"-n 3":                   {"SELECT 3", "PING"},
		"-a pw -n 3":             {"AUTH pw", "SELECT 3", "PING"},
		"-u redis://HOST/2":      {"SELECT 2", "PING"},
		"-u redis://me:pw@HOST":  {"AUTH me pw", "PING"},
		"-u redis://:p%20w@HOST": {"AUTH p w", "PING"},
	} {
		var got []string
		f := startFake(t, func(args []string) string {
			got = append(got, strings.Join(args, " "))
			if args[0] == "PING" {
				return "+PONG\r\n"
			}
			return "+OK\r\n"
		})
		flags := strings.Fields(strings.ReplaceAll(args, "HOST", f.addr))
		if !strings.Contains(args, "HOST") {
			flags = append(flags, "-p", f.port)
		}
		if o := runTool(t, "", nil, "ping", flags...); o.status != 0 || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: sent %q, want %q (%+v)", args, got, want, o)
		}
	}
}

func TestResolve_TakesTheBrokersEnvironment(t *testing.T) {
	for _, tc := range []struct {
		name string
		t    target
		env  []string
		want target
	}{
		{"nothing", target{}, nil, target{port: "6379"}},
		{"port", target{}, []string{"BROKER_PORT=7000"}, target{port: "7000"}},
		{"flag over environment", target{port: "1"}, []string{"BROKER_PORT=7000"}, target{port: "1"}},
		{"TLS", target{tls: true}, []string{"BROKER_TLS_PORT=7001"}, target{tls: true, port: "7001"}},
		{"socket", target{host: defaultHost}, []string{"BROKER_PORT=0", "BROKER_UNIXSOCKET=/s"}, target{host: defaultHost, port: "6379", socket: "/s"}},
		{"password", target{}, []string{"BROKER_REQUIREPASS=x"}, target{port: "6379", password: "x"}},
		{"redis-cli's password", target{}, []string{"REDISCLI_AUTH=y", "BROKER_REQUIREPASS=x"}, target{port: "6379", password: "y"}},
		{"Kubernetes", target{}, []string{"BROKER_PORT=tcp://10.0.0.7:1"}, target{port: "6379"}},
		{"not a configuration", target{}, []string{"BROKER_PORT=x"}, target{port: "6379"}},
	} {
		if err := tc.t.resolve(tc.env); err != nil || tc.t != tc.want {
			t.Errorf("%s: %+v, %v, want %+v", tc.name, tc.t, err, tc.want)
		}
	}
}

func TestCheck(t *testing.T) {
	for _, tc := range []struct {
		args     string
		env      []string
		stdin    string
		validate error
		status   int
		stdout   string
	}{
		{args: "--port 7000", stdout: "ok\n"},
		{args: "--hz 20", stdout: "ignored: hz (command line)\nok\n"},
		{args: "-", stdin: "port 1\nhz 20\n", stdout: "ignored: hz (stdin:2)\nok\n"},
		{args: "-", stdin: "port 1\nprot 2\n", status: 1, stdout: "refused: stdin:2: "},
		{args: "--daemonize yes", status: 1, stdout: "refused: --daemonize \"yes\": not supported"},
		{env: []string{"BROKER_MAXCLIENTS=0"}, status: 1, stdout: "refused: BROKER_MAXCLIENTS"},
		{validate: errors.New("no certificate"), status: 1, stdout: "refused: no certificate\n"},
		{args: "--version", stdout: "broker 1.2.3\n"},
	} {
		choice := Choose(append([]string{"broker", "check"}, strings.Fields(tc.args)...))
		var stdout, stderr strings.Builder
		status := choice.Tool.Run(t.Context(), &Process{
			Args: choice.Args, Env: tc.env, Stdin: strings.NewReader(tc.stdin), Stdout: &stdout, Stderr: &stderr,
			Version: "1.2.3", Validate: func(*config.Config) error { return tc.validate },
		})
		if status != tc.status || !strings.HasPrefix(stdout.String(), tc.stdout) || stderr.Len() != 0 {
			t.Errorf("check %s: status %d, stdout %q, stderr %q", tc.args, status, &stdout, &stderr)
		}
	}
}

func TestVersion(t *testing.T) {
	if got, want := runTool(t, "", nil, "version"), (outcome{0, "broker 1.2.3\n", ""}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
}
