package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"strconv"
	"strings"
	"time"

	"broker/internal/broker"
	"broker/internal/cli"
	"broker/internal/config"
)

// shutdownGrace is what Shutdown gets on top of shutdown-timeout to close
// sockets and end its goroutines. The default of 3 s and this stay under the
// 5 s that service managers and orchestrators at the least allow.
const shutdownGrace = time.Second

var errShutdownHangs = errors.New("shutdown did not end in time")

// serve runs the broker that the sources describe until a signal comes in on
// stop or a client sends SHUTDOWN, and returns the exit status. asRedis says
// that it was called as redis-server, whose --version programs parse.
func serve(sources config.Sources, asRedis bool, stdout, stderr io.Writer, stop <-chan os.Signal) int {
	cfg, unused, err := sources.Load()
	switch {
	case errors.Is(err, config.ErrHelp):
		fmt.Fprint(stdout, config.Help()+"\n"+cli.Help())
		return exitOK
	case errors.Is(err, config.ErrVersion) && asRedis:
		fmt.Fprintf(stdout, "Redis server v=%s sha=00000000:0 malloc=go bits=%d build=broker-%s\n",
			broker.CompatVersion, strconv.IntSize, broker.Version)
		return exitOK
	case errors.Is(err, config.ErrVersion):
		fmt.Fprintf(stdout, "broker %s\n", broker.Version)
		return exitOK
	case err != nil:
		return fail(stderr, err)
	}

	log, level, err := newLogger(&cfg, stdout, stderr)
	if err != nil {
		return fail(stderr, err)
	}
	// Tools that start a redis-server look for " PID: " and its number, and for
	// the messages of the two lines that follow when nothing fails.
	log.Info("Starting", "broker", fmt.Sprintf("version %s, PID: %d", broker.Version, os.Getpid()))
	for _, u := range unused {
		log.Warn("Parameter accepted without effect", "parameter", u.Name, "from", u.Where)
	}
	b, err := broker.Start(cfg, log)
	if err != nil {
		// Also for whoever reads the log only.
		log.Error("Start failed", "error", err)
		return fail(stderr, err)
	}
	b.OnChange(func(cfg *config.Config) { level.Set(cfg.LogLevel) })
	log.Info("Server initialized")
	if cfg.PIDFile != "" {
		// Not before the listeners are open: a second broker for the same port
		// must leave the file of the first alone.
		if err := writePIDFile(cfg.PIDFile); err != nil {
			ctx, cancel := context.WithCancel(context.Background())
			cancel() // nothing is owed to anybody yet
			_ = b.Shutdown(ctx)
			return fail(stderr, err)
		}
		defer removePIDFile(cfg.PIDFile)
	}
	manager, err := newNotifier(cfg.Supervised, sources.Env)
	if err == nil {
		err = manager.tell(notifyReady)
	}
	if err != nil {
		log.Warn("Cannot tell the service manager of the start", "error", err)
	}
	ready := []any{
		"version", broker.Version,
		"pid", os.Getpid(),
		"shards", cfg.ShardCount(),
		"io", cfg.IO,
		"addrs", joinAddrs(b.Addrs()),
	}
	if addr := b.AdminAddr(); addr != nil {
		ready = append(ready, "admin", addr)
	}
	log.Info("Ready to accept connections", ready...)

	cause := slog.String("command", "SHUTDOWN")
	select {
	case sig := <-stop:
		cause = slog.Any("signal", sig)
	case <-b.Asked():
	}
	_ = manager.tell(notifyStopping) // as well as can be
	log.Info("Shutting down", cause, "timeout", cfg.ShutdownTimeout)
	return shutdown(b.Shutdown, cfg.ShutdownTimeout, log, stop)
}

// shutdown calls end, which gets timeout to deliver what is queued, and
// returns the exit status. It does not wait longer than timeout and
// shutdownGrace, nor past one more signal.
func shutdown(end func(context.Context) error, timeout time.Duration, log *slog.Logger, stop <-chan os.Signal) int {
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	done := make(chan error, 1)
	go func() { done <- end(ctx) }()

	hangs := time.NewTimer(timeout + shutdownGrace)
	defer hangs.Stop()
	select {
	case err := <-done:
		// Running out of time means that clients did not read what was
		// queued for them; nothing is wrong with the broker.
		if err != nil && !errors.Is(err, context.DeadlineExceeded) {
			log.Error("Shutdown failed", "error", err)
			return exitError
		}
		if err != nil {
			log.Warn("Shut down with undelivered messages", "error", err)
			return exitOK
		}
		log.Info("Shut down")
		return exitOK
	case sig := <-stop:
		log.Warn("Stopped by a second signal", "signal", sig)
		return exitError
	case <-hangs.C:
		log.Error("Shutdown failed", "error", errShutdownHangs)
		return exitError
	}
}

// joinAddrs returns the addresses of the listeners, separated by commas.
func joinAddrs(addrs []net.Addr) string {
	texts := make([]string, len(addrs))
	for i, a := range addrs {
		texts[i] = a.String()
	}
	return strings.Join(texts, ",")
}
