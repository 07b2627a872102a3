package cli

import (
	"bufio"
	"bytes"
	"context"
	"net"
	"strings"
	"testing"
	"time"
)

// A fake is a server that answers each command with what answer returns; ""
// answers nothing, "close" ends the connection.
type fake struct {
	addr, port string
}

func startFake(t *testing.T, answer func(args []string) string) fake {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go serveFake(c, answer)
		}
	}()
	_, port, _ := net.SplitHostPort(l.Addr().String())
	return fake{l.Addr().String(), port}
}

func serveFake(c net.Conn, answer func([]string) string) {
	defer c.Close()
	r := bufio.NewReader(c)
	for {
		v, err := readValue(r)
		if err != nil {
			return
		}
		var args []string
		for _, e := range v.elems {
			args = append(args, e.text)
		}
		text := answer(args)
		if text == "close" {
			return
		}
		if _, err := c.Write([]byte(text)); err != nil {
			return
		}
	}
}

// An outcome is what a tool left behind.
type outcome struct {
	status         int
	stdout, stderr string
}

// runTool runs a tool to its end.
func runTool(t *testing.T, stdin string, env []string, name string, args ...string) outcome {
	t.Helper()
	choice := Choose(append([]string{"broker", name}, args...))
	if choice.Tool == nil {
		t.Fatalf("there is no tool %s", name)
	}
	// Against a tool that hangs; no assertion depends on it.
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	var stdout, stderr bytes.Buffer
	status := choice.Tool.Run(ctx, &Process{
		Args: choice.Args, Env: env, Stdin: strings.NewReader(stdin),
		Stdout: &stdout, Stderr: &stderr, Version: "1.2.3", CompatVersion: "8.0.6",
	})
	return outcome{status, stdout.String(), stderr.String()}
}
