package config

import (
	"errors"
	"io"
	"log/slog"
	"os"
	"path"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

func mustLoad(t *testing.T, args ...string) Config {
	t.Helper()
	c, err := Load(args)
	if err != nil {
		t.Fatalf("Load(%q): %v", args, err)
	}
	return c
}

func TestLoad_WithoutArgumentsGivesRedisDefaults(t *testing.T) {
	io := DriverNet
	if runtime.GOOS == "linux" {
		io = DriverEpoll
	}
	want := Config{
		Bind:       []string{"127.0.0.1", "-::1"},
		Port:       6379,
		TCPBacklog: 511,
		MaxClients: 10000,
		IO:         io,
		OutputLimits: OutputLimits{
			Replica: OutputLimit{HardBytes: 256 << 20, SoftBytes: 64 << 20, SoftFor: time.Minute},
			PubSub:  OutputLimit{HardBytes: 32 << 20, SoftBytes: 8 << 20, SoftFor: time.Minute},
		},
		QueryLimitBytes: 1 << 30,
		BulkLimitBytes:  512 << 20,
		Databases:       16,
		TCPKeepAlive:    5 * time.Minute,
		ShutdownTimeout: 3 * time.Second,
		LogLevel:        slog.LevelInfo,
		LogFormat:       LogText,
		ProtectedMode:   true,

		MaxSubscriptions: 1_000_000,
		MaxPatternBytes:  4096,
		SlowPolicy:       SlowDisconnect, SlowLimitBytes: 1 << 20,
		AuthTimeout:             10 * time.Second,
		ACLPubSubDefault:        ResetChannels,
		ACLLogMaxLen:            128,
		DebugCommand:            AccessNo,
		SlowlogSlowerThanMicros: 10000,
		SlowlogMaxLen:           128,
		LatencyTracking:         true,
		LatencyPercentiles:      []float64{50, 99, 99.9},
		TLSAuthClients:          TLSAuthYes,
		TLSSessionCaching:       true,
		Supervised:              "no",
	}
	if got := mustLoad(t); !reflect.DeepEqual(got, want) {
		t.Errorf("Load() = %+v\nwant     %+v", got, want)
	}
}

func TestLoad_Values(t *testing.T) {
	cases := []struct {
		args  string // separated by '|', since values contain blanks
		name  string
		value string // as CONFIG GET prints it
	}{
		{"--bind|127.0.0.1|::1", "bind", "127.0.0.1 ::1"},
		{"--bind|127.0.0.1 ::1", "bind", "127.0.0.1 ::1"},
		{"--bind|127.0.0.1|-::1|--port|7000", "bind", "127.0.0.1 -::1"},
		{"--bind|*|-::*|--protected-mode|no", "bind", "* -::*"},
		{"--bind=127.0.0.1|::1", "bind", "127.0.0.1 ::1"},
		{"--bind||--unixsocket|/tmp/s", "bind", ""},
		{"--bind|--unixsocket|/tmp/s", "bind", ""},
		{"--port|7000", "port", "7000"},
		{"--port=7000", "port", "7000"},
		{"--PORT|7000", "port", "7000"},
		{"--port|1|--port|2", "port", "2"},
		{"--port|0|--unixsocket|/tmp/s", "port", "0"},
		{"--tcp-backlog|0", "tcp-backlog", "0"},
		{"--unixsocket=--odd", "unixsocket", "--odd"},
		{"--unixsocket|a=b c", "unixsocket", "a=b c"},
		{"--unixsocketperm|700", "unixsocketperm", "700"},
		{"--unixsocketperm|0770", "unixsocketperm", "770"},
		{"--maxclients|1", "maxclients", "1"},
		{"--shards|4", "shards", "4"},
		{"--io|net", "io", "net"},
		{"--io|NET", "io", "net"},
		{"--client-query-buffer-limit|1GB", "client-query-buffer-limit", "1073741824"},
		{"--client-query-buffer-limit|2m", "client-query-buffer-limit", "2000000"},
		{"--client-query-buffer-limit|0002Mb", "client-query-buffer-limit", "2097152"},
		{"--client-query-buffer-limit|1048576b", "client-query-buffer-limit", "1048576"},
		{"--client-query-buffer-limit|2000k", "client-query-buffer-limit", "2000000"},
		{"--client-query-buffer-limit|2000kb", "client-query-buffer-limit", "2048000"},
		{"--proto-max-bulk-len|1g", "proto-max-bulk-len", "1000000000"},
		{"--proto-max-bulk-len|9223372036854775807", "proto-max-bulk-len", "9223372036854775807"},
		{"--databases|1", "databases", "1"},
		{"--tcp-keepalive|0", "tcp-keepalive", "0"},
		{"--shutdown-timeout|2147483647", "shutdown-timeout", "2147483647"},
		{"--loglevel|WARNING", "loglevel", "warning"},
		{"--loglevel|verbose", "loglevel", "verbose"},
		{"--loglevel|nothing", "loglevel", "nothing"},
		{"--log-format|JSON", "log-format", "json"},
		{"--logfile|/var/log/a b", "logfile", "/var/log/a b"},
		{"--logfile|x|--logfile|", "logfile", ""},
		{"--pidfile|p", "pidfile", "p"},
		{"--protected-mode|No", "protected-mode", "no"},

		{"--save|", "save", ""},
		{"--save", "save", ""},
		{"--save|60|1|--appendonly|yes", "save", "60 1"},
		{"--save|60 1 300  10|--appendonly|YES", "appendonly", "yes"},
		{"--save|--appendonly|NO", "appendonly", "no"},
		{"--maxmemory|0mb", "maxmemory", "0"},
		{"--maxmemory-policy|allkeys-lru", "maxmemory-policy", "allkeys-lru"},
		{"--maxmemory-policy|allkeys-lru|--maxmemory-policy|NoEviction", "maxmemory-policy", "noeviction"},
		{"--hz|20", "hz", "20"},
		{"--hz|20|--hz|10", "hz", "10"},
		{"--maxmemory|700mb", "maxmemory", "734003200"},
		{"--maxmemory|1|--maxmemory|0mb", "maxmemory", "0"},
		{"--slave-priority|7", "replica-priority", "7"},
		{"--slave-priority|7|--replica-priority|8", "slave-priority", "8"},
		{"--shutdown-on-sigint|nosave|force|now", "shutdown-on-sigint", "nosave now force"},
		{"--shutdown-on-sigint|default now|--shutdown-on-sigint|default", "shutdown-on-sigint", "default"},

		{"--port 7000", "port", "7000"},
		{"--maxmemory '1mb'", "maxmemory", "1048576"},
		{"--client-output-buffer-limit pubsub 1 2 3", "client-output-buffer-limit",
			"normal 0 0 0 slave 268435456 67108864 60 pubsub 1 2 3"},
		{"--proc-title-template --my--title|--port 7", "proc-title-template", "--my--title"},
		{"--proc-title-template|--my--title|--port|7", "port", "7"},
		{"--proc-title-template|--my--title|--port|7", "proc-title-template", "--my--title"},
		{"--save|--port 7", "port", "7"},
		{"--proc-title-template|--save|--save||--loglevel|verbose", "proc-title-template", "--save"},
		{"--proc-title-template|--save|--save||--loglevel|verbose", "loglevel", "verbose"},
		{"--unixsocket=a b", "unixsocket", "a b"},
		{"--oom-score-adj-values|0|200|800", "oom-score-adj-values", "0 200 800"},

		{"--maxmemory-clients|5%", "maxmemory-clients", "5%"},
		{"--maxmemory-clients|0%", "maxmemory-clients", "0"},
		{"--maxmemory-clients|5mb", "maxmemory-clients", "5242880"},
		{"--slowlog-log-slower-than|9223372036854775807", "slowlog-log-slower-than", "9223372036854775807"},
		{"--latency-tracking-info-percentiles|", "latency-tracking-info-percentiles", ""},
		{"--latency-tracking-info-percentiles|1e1|99.99999999", "latency-tracking-info-percentiles", "10 100"},
		{"--latency-tracking-info-percentiles|-0 0.30000000000000004 99.95", "latency-tracking-info-percentiles", "0 0.3 99.95"},
		{"--notify-keyspace-events|KEA", "notify-keyspace-events", "AKE"},
		{"--notify-keyspace-events|g$lshzxeKE", "notify-keyspace-events", "g$lshzxeKE"},
		{"--tls-protocols|TLSv1.3 tlsv1.2", "tls-protocols", "TLSv1.3 tlsv1.2"},
		{"--tls-auth-clients|OPTIONAL", "tls-auth-clients", "optional"},
		{"--requirepass|a b", "requirepass", "a b"},

		{"--client-output-buffer-limit|pubsub|1mb|2k|3", "client-output-buffer-limit",
			"normal 0 0 0 slave 268435456 67108864 60 pubsub 1048576 2000 3"},
		{"--client-output-buffer-limit|pubsub 32mb 8mb 60", "client-output-buffer-limit",
			"normal 0 0 0 slave 268435456 67108864 60 pubsub 33554432 8388608 60"},
		{"--client-output-buffer-limit=pubsub 1 2 3", "client-output-buffer-limit",
			"normal 0 0 0 slave 268435456 67108864 60 pubsub 1 2 3"},
		{"--client-output-buffer-limit|PubSub|1|2|3|Normal|4|5|6", "client-output-buffer-limit",
			"normal 4 5 6 slave 268435456 67108864 60 pubsub 1 2 3"},
		{"--client-output-buffer-limit|pubsub|1|2|3|--client-output-buffer-limit|replica|4|5|6", "client-output-buffer-limit",
			"normal 0 0 0 slave 4 5 6 pubsub 1 2 3"},
		{"--client-output-buffer-limit|pubsub|1|2|3|pubsub|4|5|6", "client-output-buffer-limit",
			"normal 0 0 0 slave 268435456 67108864 60 pubsub 4 5 6"},
	}
	for _, tc := range cases {
		t.Run(tc.args, func(t *testing.T) {
			c := mustLoad(t, strings.Split(tc.args, "|")...)
			want := []Pair{{tc.name, tc.value}}
			if got := c.Get(tc.name); !reflect.DeepEqual(got, want) {
				t.Errorf("Get(%q) = %q, want %q", tc.name, got, want)
			}
		})
	}
}

func TestLoad_Errors(t *testing.T) {
	const limitName = "--client-output-buffer-limit"
	cases := []struct {
		args string // separated by '|'
		want string // the whole line
	}{
		{"--port|70000", `--port "70000": argument must be between 0 and 65535 inclusive`},
		{"--port|-1", `--port "-1": argument must be between 0 and 65535 inclusive`},
		{"--port", `--port: wrong number of arguments`},
		{"--port|1|2", `--port "1" "2": wrong number of arguments`},
		{"--port=1|2", `--port "1" "2": wrong number of arguments`},
		{"--port|", `--port "": argument couldn't be parsed into an integer`},
		{"--port=|", `--port "" "": wrong number of arguments`},
		{"--port|+7", `--port "+7": argument couldn't be parsed into an integer`},
		{"--port|007", `--port "007": argument couldn't be parsed into an integer`},
		{"--port| 7", `--port " 7": argument couldn't be parsed into an integer`},
		{"--port|0x10", `--port "0x10": argument couldn't be parsed into an integer`},
		{"--port|9223372036854775808", `--port "9223372036854775808": argument couldn't be parsed into an integer`},
		{"--port|a\nb", `--port "a\nb": argument couldn't be parsed into an integer`},
		{"--tcp-backlog|-1", `--tcp-backlog "-1": argument must be between 0 and 2147483647 inclusive`},
		{"--maxclients|0", `--maxclients "0": argument must be between 1 and 4294967295 inclusive`},
		{"--maxclients|4294967296", `--maxclients "4294967296": argument must be between 1 and 4294967295 inclusive`},
		{"--databases|0", `--databases "0": argument must be between 1 and 2147483647 inclusive`},
		{"--tcp-keepalive|-1", `--tcp-keepalive "-1": argument must be between 0 and 2147483647 inclusive`},
		{"--shutdown-timeout|2147483648", `--shutdown-timeout "2147483648": argument must be between 0 and 2147483647 inclusive`},
		{"--shards|257", `--shards "257": argument must be between 0 and 256 inclusive`},
		{"--unixsocketperm|999", `--unixsocketperm "999": argument couldn't be parsed as an octal number`},
		{"--unixsocketperm|77777", `--unixsocketperm "77777": argument must be between 0 and 777 inclusive`},
		{"--unixsocketperm|-1", `--unixsocketperm "-1": argument must be between 0 and 777 inclusive`},
		{"--client-query-buffer-limit|1", `--client-query-buffer-limit "1": argument must be between 1048576 and 9223372036854775807 inclusive`},
		{"--client-query-buffer-limit|9223372036854775808", `--client-query-buffer-limit "9223372036854775808": argument must be between 1048576 and 9223372036854775807 inclusive`},
		{"--client-query-buffer-limit|17179869185gb", `--client-query-buffer-limit "17179869185gb": argument must be between 1048576 and 9223372036854775807 inclusive`},
		{"--client-query-buffer-limit|2.5mb", `--client-query-buffer-limit "2.5mb": argument must be a memory value`},
		{"--client-query-buffer-limit|1tb", `--client-query-buffer-limit "1tb": argument must be a memory value`},
		{"--client-query-buffer-limit|-5", `--client-query-buffer-limit "-5": argument must be a memory value`},
		{"--client-query-buffer-limit|mb", `--client-query-buffer-limit "mb": argument must be a memory value`},
		{"--client-query-buffer-limit|", `--client-query-buffer-limit "": argument must be a memory value`},
		{"--proto-max-bulk-len|1", `--proto-max-bulk-len "1": argument must be between 1048576 and 9223372036854775807 inclusive`},
		{"--loglevel|loud", `--loglevel "loud": argument(s) must be one of the following: debug, verbose, notice, warning, nothing`},
		{"--io|uring", `--io "uring": argument(s) must be one of the following: epoll, net`},
		{"--bind|-", `--bind "-": argument contains an empty address`},
		{"--bind|1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17", `--bind "1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17": Too many bind addresses specified.`},
		{"--unixsocket|a\x00b", `--unixsocket "a\x00b": argument contains a NUL byte`},
		{"--unixsocket|" + strings.Repeat("x", 108), `--unixsocket "` + strings.Repeat("x", 108) + `": unix socket path too long (108), must be under 108`},

		{limitName, limitName + `: Wrong number of arguments in buffer limit configuration.`},
		{limitName + "|pubsub|32mb|8mb", limitName + ` "pubsub" "32mb" "8mb": Wrong number of arguments in buffer limit configuration.`},
		{limitName + "|foo|0|0|0", limitName + ` "foo" "0" "0" "0": Invalid client class specified in buffer limit configuration.`},
		{limitName + "|master|0|0|0", limitName + ` "master" "0" "0" "0": Invalid client class specified in buffer limit configuration.`},
		{limitName + "|pubsub|32xx|0|0", limitName + ` "pubsub" "32xx" "0" "0": Error in hard, soft or soft_seconds setting in buffer limit configuration.`},
		{limitName + "|pubsub|5%|0|0", limitName + ` "pubsub" "5%" "0" "0": Error in hard, soft or soft_seconds setting in buffer limit configuration.`},
		{limitName + "|pubsub|0|-1|0", limitName + ` "pubsub" "0" "-1" "0": Error in hard, soft or soft_seconds setting in buffer limit configuration.`},
		{limitName + "|pubsub|0|0|-1", limitName + ` "pubsub" "0" "0" "-1": Error in hard, soft or soft_seconds setting in buffer limit configuration.`},
		{limitName + "|pubsub|99999999999gb|0|0", limitName + ` "pubsub" "99999999999gb" "0" "0": Error in hard, soft or soft_seconds setting in buffer limit configuration.`},

		{"--prot|1", `unknown parameter "--prot", did you mean --port?`},
		{"--max-clients|1", `unknown parameter "--max-clients", did you mean --maxclients?`},
		{"--tcp-keep-alive|1", `unknown parameter "--tcp-keep-alive", did you mean --tcp-keepalive?`},
		{"--nonsense|no", `unknown parameter "--nonsense", see --help`},
		{"--daemonize|yes", `--daemonize "yes": not supported, only "no" is: let a service manager or a container run it in the background`},
		{"--daemonize", `--daemonize: wrong number of arguments`},
		{"--appendonly|maybe", `--appendonly "maybe": argument must be 'yes' or 'no'`},
		{"--save|3600", `--save "3600": Invalid save parameters`},
		{"--maxmemory|lots", `--maxmemory "lots": argument must be a memory value`},
		{"--maxmemory|1|2", `--maxmemory "1" "2": wrong number of arguments`},
		{"--shutdown-on-sigint|save nosave", `--shutdown-on-sigint "save nosave": shutdown options SAVE and NOSAVE can't be used simultaneously`},
		{"--shutdown-on-sigint|x", `--shutdown-on-sigint "x": argument(s) must be one of the following: default, save, nosave, now, force`},
		{"--port 1 2", `--port "1" "2": wrong number of arguments`},
		{"--port \"1", `unexpected argument "--port \"1": parameters are written --name value`},
		{"--port|--loglevel|verbose", `--port "--loglevel" "verbose": wrong number of arguments`},
		{"--port|--prot", `--port "--prot": argument couldn't be parsed into an integer`},
		{"--port|1|--prot|2", `unknown parameter "--prot", did you mean --port?`},
		{"--requirepass|hunter2|hunter3", `--requirepass (hidden): wrong number of arguments`},
		{"--user", `--user: wrong number of arguments`},
		{"--user|", `--user (hidden): argument contains no user name`},
		{"--user||>hunter2", `--user (hidden): argument contains no user name`},
		{`--user|alice on ">hunter2`, `--user (hidden): Unbalanced quotes in configuration line`},
		{"--maxmemory-clients|-1", `--maxmemory-clients "-1": argument must be a memory or percent value`},
		{"--maxmemory-clients|101%", `--maxmemory-clients "101%": percentage argument must be less or equal to 100`},
		{"--tls-protocols|TLSv1 TLSv1.2", `--tls-protocols "TLSv1 TLSv1.2": TLS before 1.2 is not spoken. Use a combination of 'TLSv1.2' and 'TLSv1.3'.`},
		{"--tls-protocols|x", `--tls-protocols "x": Invalid tls-protocols specified. Use a combination of 'TLSv1.2' and 'TLSv1.3'.`},
		{"--tls-ciphers|DEFAULT", `--tls-ciphers "DEFAULT": not supported, only "" is: Go's TLS library chooses among suites without known weaknesses`},
		{"--tls-replication|yes", `--tls-replication "yes": not supported, only "no" is: there is no replication`},
		{"--hz|" + strings.Repeat("x", 1<<16+1), `--hz "` + strings.Repeat("x", 128) + `...": argument is longer than 65536 bytes`},
		{"--rename-command|PUBLISH|", `--rename-command "PUBLISH" "": not supported: commands have one name`},
		{"--hz", `--hz: wrong number of arguments`},
		{"--maxmemory-policy", `--maxmemory-policy: wrong number of arguments`},
		{"--include", `--include: wrong number of arguments`},
		{"--protected-mode|maybe", `--protected-mode "maybe": argument must be 'yes' or 'no'`},
		{"--=1", `unknown parameter "--", see --help`},
		{"--", `unexpected argument "--": parameters are written --name value`},
		{"no/such.conf", `cannot read configuration file no/such.conf: no such file or directory`},
		{"-", `there is no standard input to read the configuration from`},
		{"", `unexpected argument "": parameters are written --name value`},
		{"-p|1", `unexpected argument "-p": parameters are written --name value`},

		{"--port|0", `configured to not listen anywhere (see bind, port, tls-port and unixsocket)`},
		{"--bind|", `configured to not listen anywhere (see bind, port, tls-port and unixsocket)`},
	}
	for _, tc := range cases {
		t.Run(tc.args, func(t *testing.T) {
			c, err := Load(strings.Split(tc.args, "|"))
			if err == nil {
				t.Fatalf("Load = %+v, want error %q", c, tc.want)
			}
			if err.Error() != tc.want {
				t.Errorf("error %q\n want %q", err, tc.want)
			}
		})
	}
}

func TestLoad_ErrorIsOneShortLine(t *testing.T) {
	long := strings.Repeat("x\n", 1<<16)
	for _, args := range [][]string{
		{long},
		{"--" + long},
		{"--port", long},
		append([]string{"--bind"}, strings.SplitAfter(long, "\n")...),
	} {
		_, err := Load(args)
		if err == nil {
			t.Fatalf("Load(%.20q...) succeeded", args)
		}
		if text := err.Error(); len(text) > 1024 || strings.Contains(text, "\n") {
			t.Errorf("error of %d bytes, %d line breaks: %.80q...", len(text), strings.Count(text, "\n"), text)
		}
	}
}

func TestLoad_HelpAndVersion(t *testing.T) {
	cases := []struct {
		args string // separated by '|'
		want error
	}{
		{"-h", ErrHelp},
		{"--help", ErrHelp},
		{"-v", ErrVersion},
		{"--version", ErrVersion},
		{"--port|7000|--help", ErrHelp},
		{"--port|7000|-v", ErrVersion},
		{"--help|--nonsense", ErrHelp},
		{"--version|--help", ErrVersion},
		{"no/such.conf|--help", ErrHelp},
		{"--nonsense|--port|x|-v", ErrVersion},
	}
	for _, tc := range cases {
		if _, err := Load(strings.Split(tc.args, "|")); !errors.Is(err, tc.want) {
			t.Errorf("Load(%s): error %v, want %v", tc.args, err, tc.want)
		}
	}
}

func TestLoad_DoesNotRetainArguments(t *testing.T) {
	args := []string{"--bind", "127.0.0.1", "::1"}
	c := mustLoad(t, args...)
	clear(args)
	if want := []string{"127.0.0.1", "::1"}; !reflect.DeepEqual(c.Bind, want) {
		t.Errorf("Bind = %q after the arguments were overwritten, want %q", c.Bind, want)
	}
}

// reload writes what c.Get shows as arguments and loads them.
func reload(c *Config) (Config, error) {
	var args []string
	for _, p := range c.Get("*") {
		args = append(args, "--"+p.Name+"="+p.Value)
	}
	return Load(args)
}

// noFiles is a file system without files.
var noFiles = textFiles(nil)

// textFiles is a file system with the given files and no others. A pattern
// matches in it as in a single folder.
func textFiles(texts map[string]string) files {
	return files{
		open: func(name string) (io.ReadCloser, error) {
			text, ok := texts[name]
			if !ok {
				return nil, &os.PathError{Op: "open", Path: name, Err: syscall.ENOENT}
			}
			return io.NopCloser(strings.NewReader(text)), nil
		},
		glob: func(pattern string) ([]string, error) {
			var names []string
			for name := range texts {
				ok, err := path.Match(pattern, name)
				if err != nil {
					return nil, err
				}
				if ok {
					names = append(names, name)
				}
			}
			slices.Sort(names)
			return names, nil
		},
	}
}

func FuzzLoad(f *testing.F) {
	for _, args := range []string{
		"",
		"--port|7000|--bind|127.0.0.1|-::1",
		"--client-output-buffer-limit|pubsub 32mb 8mb 60|--io=net",
		"--client-output-buffer-limit|normal|1|2k|3|slave|4gb|5b|6",
		"--unixsocket|/tmp/a b|--unixsocketperm|0770|--port|0",
		"--client-query-buffer-limit|9223372036854775807|--proto-max-bulk-len|17179869184gb",
		"--tcp-keepalive|0|--shutdown-timeout|4|--loglevel|NOTHING|--shards|256",
		"--maxclients|4294967295|--tcp-backlog|0|--databases|1",
		"--bind=*\x00|--help",
		"--protected-mode|no|--bind|*|--save|--pidfile|p|--log-format|json",
		"--hz|10|--requirepass|x",
		"--\xff=|--|---|-v",
	} {
		f.Add(args)
	}
	f.Fuzz(func(t *testing.T, joined string) {
		c, _, err := Sources{Args: strings.Split(joined, "|")}.load(noFiles)
		if err != nil {
			if strings.ContainsAny(err.Error(), "\r\n") {
				t.Errorf("error of several lines: %q", err)
			}
			return
		}
		c.Users = nil // which CONFIG GET does not show
		again, err := reload(&c)
		if err != nil {
			t.Fatalf("what Get shows of %+v does not load: %v", c, err)
		}
		if !reflect.DeepEqual(again, c) {
			t.Errorf("reloaded %+v\nfrom     %+v", again, c)
		}
	})
}
