package broker

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"broker/internal/config"
	"broker/rcu"
)

// renewalPeriod is how often the files of certificates are looked at, at the
// most; a handshake causes it. Programs that renew certificates replace files
// and tell nobody.
const renewalPeriod = time.Minute

// A tlsState is what handshakes are made with. Sessions keep what they were
// made with when it changes.
//
// Its methods may be called from any goroutine; config may read files.
type tlsState struct {
	log *slog.Logger // immutable

	// current is nil while there is no TLS port.
	current rcu.Cell[tlsSnapshot]

	// mu is held to install, and for nothing else (invariant one-writer).
	mu sync.Mutex

	// Atomic. When the files are to be looked at again, in Unix nanoseconds;
	// whoever moves it on looks.
	nextCheck atomic.Int64
}

// A tlsSnapshot is a TLS configuration with where it came from. It is never
// written after it was built (invariant frozen), except for the session
// ticket keys inside config, which crypto/tls makes and changes itself. They
// end with the snapshot: no client resumes a session across a change of the
// certificates that clients are checked against.
type tlsSnapshot struct {
	cfg    config.Config // what it was built from
	stamps []fileStamp   // of the files, before they were read
	config *tls.Config
}

// reload reads the files that cfg names and uses them from now on. After an
// error everything stays as it was. Without a TLS port nothing is read.
func (t *tlsState) reload(cfg *config.Config) error {
	var next *tlsSnapshot
	if cfg.TLSPort != 0 {
		var err error
		if next, err = newTLSSnapshot(cfg); err != nil {
			return err
		}
		t.warnIfExpired(next)
	}
	t.mu.Lock()
	t.current.Install(next)
	t.mu.Unlock()
	t.nextCheck.Store(time.Now().Add(renewalPeriod).UnixNano())
	return nil
}

// config returns what the next handshake is to be made with, nil when there is
// no TLS port any more.
func (t *tlsState) config() *tls.Config {
	now := time.Now()
	if next := t.nextCheck.Load(); now.UnixNano() >= next &&
		t.nextCheck.CompareAndSwap(next, now.Add(renewalPeriod).UnixNano()) {
		t.renew()
	}
	if s := t.current.Load(); s != nil {
		return s.config
	}
	return nil
}

// renew reads the files anew if one has changed. Files that do not fit
// together, as in the middle of a renewal, are read again a period later.
func (t *tlsState) renew() {
	old := t.current.Load()
	if old == nil || sameStamps(old.stamps, stampFiles(&old.cfg)) {
		return
	}
	next, err := newTLSSnapshot(&old.cfg)
	if err != nil {
		t.log.Warn("cannot read the renewed certificates, the earlier ones stay in use", "error", err)
		return
	}
	t.warnIfExpired(next)
	t.mu.Lock()
	installed := t.current.Load() == old // else they were set meanwhile
	if installed {
		t.current.Install(next)
	}
	t.mu.Unlock()
	if installed {
		t.log.Info("certificates renewed", "not_after", next.config.Certificates[0].Leaf.NotAfter)
	}
}

func (t *tlsState) warnIfExpired(s *tlsSnapshot) {
	if end := s.config.Certificates[0].Leaf.NotAfter; time.Now().After(end) {
		t.log.Warn("the certificate has expired", "file", s.cfg.TLSCertFile, "not_after", end)
	}
}

// newTLSSnapshot reads what cfg names. cfg must have passed Validate.
func newTLSSnapshot(cfg *config.Config) (*tlsSnapshot, error) {
	s := &tlsSnapshot{cfg: *cfg, stamps: stampFiles(cfg)}
	switch {
	case cfg.TLSCertFile == "":
		return nil, errors.New("tls-port needs a tls-cert-file")
	case cfg.TLSKeyFile == "":
		return nil, errors.New("tls-port needs a tls-key-file")
	}
	cert, err := loadCertificate(cfg.TLSCertFile, cfg.TLSKeyFile, cfg.TLSKeyFilePass)
	if err != nil {
		return nil, err
	}
	auth, err := clientAuth(cfg.TLSAuthClients)
	if err != nil {
		return nil, err
	}
	var authorities *x509.CertPool
	if auth != tls.NoClientCert {
		if cfg.TLSCACertFile == "" && cfg.TLSCACertDir == "" {
			return nil, errors.New("tls-ca-cert-file or tls-ca-cert-dir is needed unless tls-auth-clients is no")
		}
		if authorities, err = loadAuthorities(cfg.TLSCACertFile, cfg.TLSCACertDir); err != nil {
			return nil, err
		}
	}
	lo, hi := cfg.TLSVersions()
	s.config = &tls.Config{
		Certificates:           []tls.Certificate{cert},
		ClientAuth:             auth,
		ClientCAs:              authorities,
		MinVersion:             lo,
		MaxVersion:             hi,
		SessionTicketsDisabled: !cfg.TLSSessionCaching,
		// A message is of use only whole, so small records would gain nothing
		// and cost a system call each.
		DynamicRecordSizingDisabled: true,
	}
	return s, nil
}

func clientAuth(a config.TLSAuth) (tls.ClientAuthType, error) {
	switch a {
	case config.TLSAuthYes:
		return tls.RequireAndVerifyClientCert, nil
	case config.TLSAuthOptional:
		return tls.VerifyClientCertIfGiven, nil
	case config.TLSAuthNo:
		return tls.NoClientCert, nil
	}
	return 0, fmt.Errorf("tls-auth-clients %q is unknown", a)
}

// reloadTLS is for a change of a tls-* parameter: cfg's files are read, and
// handshakes are made with them from now on; sessions stay. After an error
// everything stays as it was.
func (b *Broker) reloadTLS(cfg *config.Config) error {
	if err := b.tls.reload(cfg); err != nil {
		return fmt.Errorf("cannot set up TLS: %w", err)
	}
	return nil
}
