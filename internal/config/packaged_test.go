package config

import (
	"reflect"
	"strings"
	"testing"
)

func TestPackagedDefaults_EverythingOverridesThem(t *testing.T) {
	const defaults = `BROKER_DEFAULTS=--bind * -::* --protected-mode no --maxclients=7 --pidfile "/run/a b"`
	load := func(args, stdin string, env ...string) Config {
		t.Helper()
		c, unused, err := Sources{Args: strings.Fields(args), Env: append(env, defaults), Stdin: strings.NewReader(stdin)}.Load()
		if err != nil || len(unused) != 0 {
			t.Fatalf("%q %q %q: %v %v", args, stdin, env, unused, err)
		}
		return c
	}
	c := load("", "")
	if !reflect.DeepEqual(c.Bind, []string{"*", "-::*"}) || c.ProtectedMode || c.MaxClients != 7 || c.PIDFile != "/run/a b" {
		t.Errorf("%+v", c)
	}
	if c := load("-", "protected-mode yes\nbind 127.0.0.1\n"); !c.ProtectedMode || !reflect.DeepEqual(c.Bind, []string{"127.0.0.1"}) || c.MaxClients != 7 {
		t.Errorf("a file: %+v", c)
	}
	if c := load("", "", "BROKER_MAXCLIENTS=8"); c.MaxClients != 8 || c.ProtectedMode {
		t.Errorf("the environment: %+v", c)
	}
	if c := load("--maxclients 9", "maxclients 8", "BROKER_MAXCLIENTS=8"); c.MaxClients != 9 {
		t.Errorf("a flag: %+v", c)
	}
}

func TestPackagedDefaults_MistakesSayWhere(t *testing.T) {
	for defaults, want := range map[string]string{
		"--prot 1":        `BROKER_DEFAULTS: unknown parameter "--prot"`,
		"--port x":        `BROKER_DEFAULTS: --port "x": `,
		"port 1":          `BROKER_DEFAULTS: unexpected argument "port"`,
		`--logfile "x`:    `BROKER_DEFAULTS: `,
		"--daemonize yes": `BROKER_DEFAULTS: --daemonize "yes": not supported`,
	} {
		_, _, err := Sources{Env: []string{"BROKER_DEFAULTS=" + defaults}}.Load()
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", defaults, err, want)
		}
	}
}
