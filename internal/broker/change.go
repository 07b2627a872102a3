package broker

import (
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"syscall"

	"broker/internal/config"
	"broker/shard"
)

// What CONFIG SET says when a change that is valid cannot be made. The texts
// are Redis's.
var (
	errNoPort = errors.New("Unable to listen on this port. Check server logs.")
	errNoBind = errors.New("Failed to bind to specified addresses.")
	errNoTLS  = errors.New("Unable to update TLS configuration. Check server logs.")
)

// errStopping is the answer to a change that comes too late.
var errStopping = errors.New("ERR the server is shutting down")

// parameters answers CONFIG GET. The ports that are in use are reported, also
// when the kernel chose them.
func (b *Broker) parameters(pattern string) [][2]string {
	st := b.current.Load()
	cfg := st.cfg
	cfg.Port, cfg.TLSPort = portShown(cfg.Port, st.listeners, false), portShown(cfg.TLSPort, st.listeners, true)
	var out [][2]string
	for _, p := range cfg.Get(pattern) {
		out = append(out, [2]string{p.Name, p.Value})
	}
	return out
}

func portShown(port int, ls []*listener, secure bool) int {
	if port == config.AnyPort {
		return portOf(ls, secure)
	}
	return port
}

// OnChange calls f with the configuration now, and after each change of it as
// long as the broker runs. f must not block and not write what it is given.
func (b *Broker) OnChange(f func(*config.Config)) {
	b.mu.Lock()
	b.watchers = append(b.watchers, f)
	b.mu.Unlock()
	// A change that ends meanwhile may be told twice, which does no harm.
	f(&b.current.Load().cfg)
}

// apply brings a loop up to date. As it takes what is current when it runs,
// the last change wins on every loop, in whatever order they were told.
func (b *Broker) apply(l *shard.Loop) { l.Apply(b.current.Load().settings) }

// begin waits until no change is under way and keeps others out until the
// function that it returns is called.
func (b *Broker) begin() (end func(), err error) {
	select {
	case <-b.stopping:
		return nil, errStopping
	case b.changing <- struct{}{}:
	}
	select {
	case <-b.stopping:
		<-b.changing
		return nil, errStopping
	default:
		return func() { <-b.changing }, nil
	}
}

// rewriteParameters is CONFIG REWRITE.
func (b *Broker) rewriteParameters() error {
	end, err := b.begin()
	if err != nil {
		return err
	}
	defer end()
	cfg := b.current.Load().cfg
	cfg.Users = b.users.Lines()
	err = cfg.Rewrite()
	switch {
	case err == nil:
		b.log.Info("Configuration file rewritten", "file", cfg.File)
	case !errors.Is(err, config.ErrNoFile):
		b.log.Warn("Configuration file not rewritten", "file", cfg.File, "error", err)
	}
	return err
}

// setParameters is CONFIG SET: all of the pairs take effect or none. The loops
// are left to apply. It may block while a name is looked up and files are
// read.
func (b *Broker) setParameters(words [][2]string) error {
	end, err := b.begin()
	if err != nil {
		return err
	}
	defer end()
	pairs := make([]config.Pair, len(words))
	for i, w := range words {
		pairs[i] = config.Pair{Name: w[0], Value: w[1]}
	}
	old := b.current.Load()
	cfg, err := old.cfg.Set(pairs)
	if err != nil {
		return err
	}
	ch := &change{b: b, old: old, next: &state{cfg: cfg, listeners: old.listeners}}
	// In the order of the pairs, so that of several that fail the same one is
	// named as by Redis.
	for _, pair := range pairs {
		name := strings.ToLower(pair.Name)
		if why := ch.make(name); why != nil {
			ch.undo()
			return &config.SetError{Name: name, Why: why}
		}
	}
	ch.finish()
	b.log.Info("Configuration changed", "parameters", namesOf(pairs))
	return nil
}

// namesOf returns the names of pairs; values may be secrets.
func namesOf(pairs []config.Pair) string {
	names := make([]string, len(pairs))
	for i, p := range pairs {
		names[i] = strings.ToLower(p.Name)
	}
	return strings.Join(names, " ")
}

// A change is a CONFIG SET that is under way. Only the goroutine that began it
// uses it.
type change struct {
	b         *Broker
	old, next *state

	listenersDone, tlsDone bool
	oldTLS                 *tlsSnapshot

	closed []*listener // of old, to make room for others
}

// make does what has to be done outside of the loops for a parameter. What it
// returns is for the client; what that should not know is logged.
func (ch *change) make(name string) error {
	cfg := &ch.next.cfg
	switch {
	case name == "maxclients":
		if most := maxDescriptorClients(cfg.ShardCount()); cfg.MaxClients > most {
			return fmt.Errorf("The operating system is not able to handle the specified number of clients, try with %d", most)
		}
	case strings.HasPrefix(name, "tls-"):
		if err := ch.makeTLS(); err != nil {
			ch.b.log.Warn("TLS configuration not changed", "error", err)
			return errNoTLS
		}
		if name == "tls-port" {
			return ch.makeListeners(errNoPort)
		}
	case name == "port":
		return ch.makeListeners(errNoPort)
	case name == "bind":
		return ch.makeListeners(errNoBind)
	case name == "tcp-keepalive":
		for _, l := range ch.next.listeners {
			ch.b.setKeepAlive(l, cfg)
		}
	}
	return nil
}

// makeTLS reads certificates and keys anew, once.
func (ch *change) makeTLS() error {
	if ch.tlsDone {
		return nil
	}
	oldTLS := ch.b.tls.current.Load()
	if err := ch.b.reloadTLS(&ch.next.cfg); err != nil {
		return err
	}
	ch.tlsDone, ch.oldTLS = true, oldTLS
	return nil
}

// makeListeners opens what is to be listened on and is not yet, once, and
// returns why when that cannot be done. What is not wanted any more stays open
// until the end of the change, unless it is in the way: then connections that
// it has not accepted yet are lost.
func (ch *change) makeListeners(why error) error {
	if ch.listenersDone {
		return nil
	}
	cfg, old := ch.next.cfg, ch.old.listeners
	// A port that the kernel chose stays.
	cfg.Port, cfg.TLSPort = ch.portWanted(cfg.Port, false), ch.portWanted(cfg.TLSPort, true)
	o := opener{
		ctx: ch.b.life,
		cfg: &cfg,
		taken: func(host string, port int, secure bool) *listener {
			i := slices.IndexFunc(old, func(l *listener) bool {
				return !l.unix && l.tls == secure && l.host == host && l.port() == port && !slices.Contains(ch.closed, l)
			})
			if i < 0 {
				return nil
			}
			return old[i]
		},
		vacate: func(port int) bool { return ch.vacate(&cfg, port) },
	}
	ls, err := o.openPorts()
	if err != nil {
		for _, l := range ls {
			if !slices.Contains(old, l) {
				l.close()
			}
		}
		ch.b.log.Warn("Listeners not changed", "error", err)
		return why
	}
	for _, l := range old {
		if l.unix {
			ls = append(ls, l)
		}
	}
	ch.listenersDone, ch.next.listeners = true, ls
	return nil
}

func (ch *change) portWanted(port int, secure bool) int {
	if port != config.AnyPort {
		return port
	}
	if now := portOf(ch.old.listeners, secure); now != 0 {
		return now
	}
	return port
}

// vacate closes the listeners on a port that cfg does not name.
func (ch *change) vacate(cfg *config.Config, port int) bool {
	found := false
	for _, l := range ch.old.listeners {
		if l.unix || l.port() != port || l.wanted(cfg) || slices.Contains(ch.closed, l) {
			continue
		}
		l.close()
		ch.closed = append(ch.closed, l)
		found = true
	}
	return found
}

// wanted reports whether cfg names what l listens on.
func (l *listener) wanted(cfg *config.Config) bool {
	port := cfg.Port
	if l.tls {
		port = cfg.TLSPort
	}
	return port == l.port() && (slices.Contains(cfg.Bind, l.host) || slices.Contains(cfg.Bind, "-"+l.host))
}

// undo brings back what was before the change.
func (ch *change) undo() {
	b := ch.b
	if ch.listenersDone {
		for _, l := range ch.next.listeners {
			if !slices.Contains(ch.old.listeners, l) {
				l.close()
			}
		}
	}
	if ch.tlsDone {
		b.tls.restore(ch.oldTLS)
	}
	listeners := slices.Clone(ch.old.listeners)
	for i, l := range listeners {
		if !slices.Contains(ch.closed, l) {
			b.setKeepAlive(l, &ch.old.cfg)
			continue
		}
		again, err := openTCP(b.life, &ch.old.cfg, l.host, l.port(), l.tls)
		if err != nil {
			// Somebody else has taken the port in that moment.
			b.log.Error("cannot listen any more", "addr", l.Addr().String(), "error", rootCause(err))
			listeners[i] = nil
			continue
		}
		b.startAccepting(again)
		listeners[i] = again
	}
	if len(ch.closed) > 0 {
		st := *ch.old
		st.listeners = slices.DeleteFunc(listeners, func(l *listener) bool { return l == nil })
		b.current.Install(&st)
	}
}

// finish puts the change in force, except on the loops.
func (ch *change) finish() {
	b := ch.b
	ch.next.settings = settings(&ch.next.cfg)
	b.current.Install(ch.next)
	for _, l := range ch.next.listeners {
		if !slices.Contains(ch.old.listeners, l) {
			b.startAccepting(l)
		}
	}
	for _, l := range ch.old.listeners {
		if !slices.Contains(ch.next.listeners, l) && !slices.Contains(ch.closed, l) {
			l.close()
		}
	}
	b.mu.Lock()
	watchers := slices.Clone(b.watchers)
	b.mu.Unlock()
	for _, f := range watchers {
		f(&ch.next.cfg)
	}
}

// restore brings back what was current before a reload.
func (t *tlsState) restore(s *tlsSnapshot) {
	t.mu.Lock()
	t.current.Install(s)
	t.mu.Unlock()
}

// setKeepAlive changes what connections get that l accepts from now on. Those
// that are accepted already keep theirs.
func (b *Broker) setKeepAlive(l *listener, cfg *config.Config) {
	if l.unix {
		return
	}
	raw, err := l.Listener.(syscall.Conn).SyscallConn()
	if err == nil {
		err = setTCPOptions(raw, cfg.TCPKeepAlive)
	}
	if err != nil {
		b.log.Warn("cannot set keep-alive", "addr", l.Addr().String(), "error", err)
	}
}

// port returns the TCP port of l, 0 for a Unix socket.
func (l *listener) port() int {
	if addr, ok := l.Addr().(*net.TCPAddr); ok {
		return addr.Port
	}
	return 0
}
