package config

import (
	"strings"
	"testing"
)

func TestEnv_BetweenFileAndFlags(t *testing.T) {
	c, _, err := Sources{
		Args: []string{"main.conf", "--shards", "3"},
		Env:  []string{"BROKER_DATABASES=2", "BROKER_SHARDS=2", "PATH=/bin", "BROKER", "MY_BROKER_PORT=9"},
	}.load(textFiles(map[string]string{"main.conf": "port 1\ndatabases 1\nshards 1"}))
	if err != nil || c.Port != 1 || c.Databases != 2 || c.Shards != 3 {
		t.Errorf("port %d, databases %d, shards %d, %v, want 1 of the file, 2 of the environment, 3 of the flags", c.Port, c.Databases, c.Shards, err)
	}
}

func TestEnv_Values(t *testing.T) {
	for entry, want := range map[string]string{
		"BROKER_BIND=127.0.0.1 ::1": "bind 127.0.0.1 ::1",
		"BROKER_TCP_BACKLOG=7":      "tcp-backlog 7",
		"BROKER_CLIENT_OUTPUT_BUFFER_LIMIT=pubsub 1 2 3 normal 1kb 0 0": "client-output-buffer-limit normal 1024 0 0 slave 268435456 67108864 60 pubsub 1 2 3",
		"BROKER_UNIXSOCKET=/tmp/a=b c":                                  "unixsocket /tmp/a=b c",
		"BROKER_LOGFILE=":                                               "logfile ",
		"BROKER_SAVE=":                                                  "save ",
		"BROKER_APPENDONLY=no":                                          "appendonly no",
		"BROKER_PORT=7000":                                              "port 7000",
		"BROKER_PORT=tcp://10.0.0.7:6379":                               "port 6379",
		"BROKER_SERVICE_HOST=10.0.0.7":                                  "port 6379",
		"BROKER_SERVICE_PORT=6379":                                      "port 6379",
		"BROKER_SERVICE_PORT_RESP=6379":                                 "port 6379",
		"BROKER_PORT_6379_TCP=tcp://10.0.0.7:6379":                      "port 6379",
		"BROKER_PORT_6379_TCP_ADDR=10.0.0.7":                            "port 6379",
		"BROKER_PORT_6379_TCP_PORT=6379":                                "port 6379",
		"BROKER_PORT_6379_TCP_PROTO=tcp":                                "port 6379",
		"BROKER_ADMIN_PORT=udp://10.0.0.7:1":                            "port 6379",
		"BROKER_ADMIN_SERVICE_HOST=10.0.0.7":                            "port 6379",
	} {
		c, _, err := Sources{Env: []string{entry}}.load(noFiles)
		if err != nil {
			t.Errorf("%s: %v", entry, err)
			continue
		}
		name := want[:strings.IndexByte(want, ' ')]
		if got := name + " " + c.Get(name)[0].Value; got != want {
			t.Errorf("%s: %q, want %q", entry, got, want)
		}
	}
}

func TestEnv_Errors(t *testing.T) {
	for entry, want := range map[string]string{
		"BROKER_PORT=x":               `BROKER_PORT "x": argument couldn't be parsed into an integer`,
		"BROKER_PORT=":                `BROKER_PORT "": argument couldn't be parsed into an integer`,
		"BROKER_PORT=http://x":        `BROKER_PORT "http://x": argument couldn't be parsed into an integer`,
		"BROKER_MAX_CLIENTS=1":        `unknown environment variable BROKER_MAX_CLIENTS, did you mean BROKER_MAXCLIENTS?`,
		"BROKER_maxclients=1":         `unknown environment variable BROKER_maxclients, did you mean BROKER_MAXCLIENTS?`,
		"BROKER_TCP-BACKLOG=1":        `unknown environment variable BROKER_TCP-BACKLOG, did you mean BROKER_TCP_BACKLOG?`,
		"BROKER_WHAT_IS_THIS=1":       `unknown environment variable BROKER_WHAT_IS_THIS, see --help`,
		"BROKER_=1":                   `unknown environment variable BROKER_, see --help`,
		"BROKER_INCLUDE=x":            `unknown environment variable BROKER_INCLUDE, see --help`,
		"BROKER_TCP_BACKLOG=tcp://x":  `BROKER_TCP_BACKLOG "tcp://x": argument couldn't be parsed into an integer`,
		"BROKER_X\nY=1":               `unknown environment variable "BROKER_X\nY", see --help`,
		"BROKER_DAEMONIZE=yes":        `BROKER_DAEMONIZE "yes": not supported, only "no" is: let a service manager or a container run it in the background`,
		"BROKER_LOGFILE=x\x00":        `BROKER_LOGFILE "x\x00": argument contains a NUL byte`,
		`BROKER_USER=alice ">hunter2`: `BROKER_USER (hidden): Unbalanced quotes in configuration line`,
	} {
		_, _, err := Sources{Env: []string{entry}}.load(noFiles)
		if err == nil || err.Error() != want {
			t.Errorf("%s: error %v\nwant %s", entry, err, want)
		}
	}
}

// Every parameter can be set by a variable, and each variable by itself.
func TestEnv_EverySettingHasItsOwnVariable(t *testing.T) {
	rows := table()
	for _, p := range rows {
		v := variableName(p.name)
		if got := parameterOf(rows, v); p.isSetting() && (got == nil || got.name != p.name) {
			t.Errorf("%s does not set %s", v, p.name)
		}
		if isServiceLink(v, "1") {
			t.Errorf("%s is taken for a service link", v)
		}
	}
}
