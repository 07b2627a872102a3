package shard

import "time"

// netDriver serves every session over a net.Conn, for systems without epoll,
// for transports that are not sockets, and for tests with connections in
// memory.
type netDriver struct {
	conns
	woken chan struct{} // capacity 1: a wake-up that is not taken yet
}

func newNetDriver(g *Group) *netDriver {
	return &netDriver{conns: conns{group: g}, woken: make(chan struct{}, 1)}
}

func (d *netDriver) ownThread() bool { return false }

func (d *netDriver) wait(events []event, timeout time.Duration) []event {
	switch {
	case d.pending.Load(): // reported before the loop said that it sleeps
	case timeout < 0:
		<-d.woken
	default:
		t := time.NewTimer(timeout)
		select {
		case <-d.woken:
		case <-t.C:
		}
		t.Stop()
	}
	return d.poll(events)
}

func (d *netDriver) wake() {
	select {
	case d.woken <- struct{}{}:
	default:
	}
}

func (d *netDriver) drained(*Session) {}

func (d *netDriver) close() {}
