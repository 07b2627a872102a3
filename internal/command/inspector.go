package command

import (
	"context"
	"net/netip"
	"time"

	"broker/internal/acl"
)

// MayInspect reports whether a user with this password may run INFO, for
// those who ask for the same numbers elsewhere than on a Redis port. It counts
// as a login from the address: whoever guesses is slowed down there and here
// together, so it may block for some seconds, or until ctx ends.
func (d *Dispatcher) MayInspect(ctx context.Context, from netip.AddrPort, user, password string) bool {
	addr := network(from.String())
	wait, ok := d.guesses.begin(addr, time.Now())
	if !ok {
		waited(ctx, maxGuessWait)
		return false
	}
	if !waited(ctx, wait) {
		return false
	}
	u := d.users.Authenticate([]byte(user), []byte(password))
	if u == nil {
		waited(ctx, d.guesses.failed(addr, time.Now()))
		return false
	}
	d.guesses.succeeded(addr, time.Now())
	info := d.table.byFullName("info")
	return u.Rules().Check(info.number, [][]byte{[]byte(info.name)}, acl.Channels{}).Reason == acl.Allowed
}

// waited waits for some time; false: ctx ended first.
func waited(ctx context.Context, d time.Duration) bool {
	if d <= 0 {
		return true
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}
