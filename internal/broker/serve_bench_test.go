package broker

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"sync"
	"testing"
	"time"

	"log/slog"

	"broker/internal/config"
)

// BenchmarkServe publishes over loopback connections, thirty commands at a
// time, with and without subscribers, and beside patterns. Client and broker
// share the process, so the time is not the broker's alone: it is here to make
// the profile that cmd/broker is built with (make pgo).
func BenchmarkServe(b *testing.B) {
	for _, bm := range []struct {
		name      string
		pipeline  int
		subscribe string
		receivers int
	}{
		{"none/pipeline=1", 1, "", 0},
		{"none/pipeline=30", 30, "", 0},
		{"subs=8/pipeline=1", 1, "SUBSCRIBE ch0000001\r\n", 8},
		{"subs=8/pipeline=30", 30, "SUBSCRIBE ch0000001\r\n", 8},
		{"patterns=8/pipeline=30", 30, "PSUBSCRIBE ch*1\r\n", 8},
	} {
		b.Run(bm.name, func(b *testing.B) { benchmarkServe(b, bm.pipeline, bm.subscribe, bm.receivers) })
	}
}

func benchmarkServe(b *testing.B, pipeline int, subscribe string, receivers int) {
	cfg := config.Default()
	cfg.Bind, cfg.Port, cfg.Shards = []string{"127.0.0.1"}, config.AnyPort, 1
	br, err := Start(cfg, slog.New(slog.DiscardHandler))
	if err != nil {
		b.Fatal(err)
	}
	defer func() {
		if err := br.Shutdown(b.Context()); err != nil {
			b.Error(err)
		}
	}()
	dial := func() net.Conn {
		c, err := net.Dial("tcp", br.Addrs()[0].String())
		if err != nil {
			b.Fatal(err)
		}
		return c
	}
	var draining sync.WaitGroup
	for range receivers {
		c := dial()
		defer c.Close()
		fmt.Fprint(c, subscribe)
		ack := make([]byte, 1)
		if _, err := io.ReadFull(c, ack); err != nil {
			b.Fatal(err)
		}
		draining.Go(func() { _, _ = io.Copy(io.Discard, c) })
	}
	batch := bytes.Repeat([]byte("*3\r\n$7\r\nPUBLISH\r\n$9\r\nch0000001\r\n$32\r\n"+string(make([]byte, 32))+"\r\n"), pipeline)
	const publishers = 16
	var publishing sync.WaitGroup
	b.ResetTimer()
	for range publishers {
		c := dial()
		publishing.Go(func() {
			defer c.Close()
			replies := make([]byte, 4*pipeline) // ":0" or ":8" each
			for range b.N/(publishers*pipeline) + 1 {
				if _, err := c.Write(batch); err != nil {
					b.Error(err)
					return
				}
				_ = c.SetReadDeadline(time.Now().Add(time.Minute))
				if _, err := io.ReadFull(c, replies); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	publishing.Wait()
	b.StopTimer()
}
