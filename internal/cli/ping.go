package cli

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"strings"
	"time"
)

// pingTimeout is under what health checks allow by default.
const pingTimeout = 3 * time.Second

// noAuth begins the error that a server answers which wants a password first.
const noAuth = "NOAUTH"

// pingTool succeeds when the broker answers. One that wants a password of a
// tool that was given none is alive as well: a health check need not know it.
func pingTool(set *flag.FlagSet) runner {
	t := &target{}
	t.addFlags(set, pingTimeout)
	return func(ctx context.Context, p *Process, args []string) error {
		if len(args) > 1 {
			return errors.New("more than one message")
		}
		if err := t.resolve(p.Env); err != nil {
			return err
		}
		c, err := t.dial(ctx)
		if err != nil {
			return err
		}
		defer c.close()
		v, err := c.do(append([]string{"PING"}, args...)...)
		if err != nil {
			return err
		}
		want := "PONG"
		if len(args) == 1 {
			want = args[0]
		}
		switch {
		case v.isError() && t.password == "" && strings.HasPrefix(v.text, noAuth):
			fmt.Fprintln(p.Stderr, "the broker is alive and wants a password")
			return nil
		case v.isError():
			return v.err()
		case v.text != want:
			return fmt.Errorf("unexpected answer to PING: %s", v.kindName())
		}
		_, err = fmt.Fprintln(p.Stdout, v.text)
		return err
	}
}
