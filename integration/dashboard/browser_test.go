package dashboard

import (
	"context"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"broker/internal/broker"
	"broker/internal/config"
)

// need returns a program's path. A browser is a large thing to ask for: without
// one the test is skipped, which the README announces, and fails where CI is
// set.
func need(t *testing.T, name, remedy string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err == nil {
		return path
	}
	if os.Getenv("CI") != "" {
		t.Fatalf("%s is not installed (%s)", name, remedy)
	}
	t.Skipf("optional: %s is not installed (%s)", name, remedy)
	return ""
}

func TestPage_InABrowser(t *testing.T) {
	chromium := need(t, "chromium", "apt-get install chromium")
	node := need(t, "node", "node 20 or newer")
	modules, err := filepath.Abs("../clients/programs/node/node_modules")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(modules, "playwright-core")); err != nil {
		if os.Getenv("CI") != "" {
			t.Fatalf("make clients-install: %v", err)
		}
		t.Skipf("optional: make clients-install: %v", err)
	}

	cfg := config.Default()
	cfg.Bind, cfg.Port, cfg.Admin, cfg.RequirePass = []string{"127.0.0.1"}, config.AnyPort, "127.0.0.1:0", "secret"
	b, err := broker.Start(cfg, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		_ = b.Shutdown(ctx)
	}()

	// A subscriber that does not come back when it is closed.
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	client := redis.NewClient(&redis.Options{Addr: b.Addrs()[0].String(), Password: "secret", ClientName: "victim", DisableIdentity: true})
	defer client.Close()
	if err := client.Do(ctx, "ACL", "SETUSER", "viewer", "on", ">pw", "+info", "+ping", "+subscribe", "+pubsub|stats", "&public.*").Err(); err != nil {
		t.Fatal(err)
	}
	conn := client.Conn()
	defer conn.Close()
	if err := conn.Do(ctx, "SUBSCRIBE", "news.sport").Err(); err != nil {
		t.Fatal(err)
	}

	script, err := filepath.Abs("page.js")
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(ctx, node, script, chromium, "http://"+b.AdminAddr().String()+"/dashboard/", os.Getenv("SCREENSHOTS"))
	cmd.Env = append(os.Environ(), "NODE_MODULES="+modules, "ADMIN=default:secret", "VIEWER=viewer:pw")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if parts := strings.Count(string(out), "ok "); parts != 7 {
		t.Errorf("%d parts of 7 are through:\n%s", parts, out)
	}
}
