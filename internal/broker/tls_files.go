package broker

import (
	"crypto"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"broker/internal/config"
)

// maxPEMBytes bounds a file of certificates or keys: naming a wrong file, or a
// device, must not fill the memory. A bundle of all public authorities takes a
// fifth of a megabyte.
const maxPEMBytes = 4 << 20

// pemCertificate is the type of the PEM blocks that hold certificates.
const pemCertificate = "CERTIFICATE"

// loadCertificate reads a certificate chain, leaf first, and its key. pass
// decrypts the key if it is encrypted.
func loadCertificate(certFile, keyFile, pass string) (tls.Certificate, error) {
	var out tls.Certificate
	chain, err := readCertificates(certFile)
	switch {
	case err != nil:
		return out, err
	case len(chain) == 0:
		return out, fmt.Errorf("%s holds no certificate", certFile)
	}
	key, err := readKey(keyFile, pass)
	if err != nil {
		return out, err
	}
	public, ok := key.Public().(interface{ Equal(crypto.PublicKey) bool })
	if !ok || !public.Equal(chain[0].PublicKey) {
		return out, fmt.Errorf("the key in %s does not belong to the certificate in %s", keyFile, certFile)
	}
	out.PrivateKey = key
	out.Leaf = chain[0]
	for _, c := range chain {
		out.Certificate = append(out.Certificate, c.Raw)
	}
	return out, nil
}

// loadAuthorities reads the certificates in file and in the files of dir;
// either may be empty.
func loadAuthorities(file, dir string) (*x509.CertPool, error) {
	files, err := authorityFiles(file, dir)
	if err != nil {
		return nil, err
	}
	pool := x509.NewCertPool()
	found := false
	for _, name := range files {
		certs, err := readCertificates(name)
		switch {
		case err != nil:
			return nil, err
		case len(certs) == 0 && name == file:
			return nil, fmt.Errorf("%s holds no certificate", name)
		}
		for _, c := range certs {
			pool.AddCert(c)
			found = true
		}
	}
	if !found {
		return nil, fmt.Errorf("%s holds no certificate", dir)
	}
	return pool, nil
}

// authorityFiles returns file and the regular files in dir, whatever their
// names; OpenSSL would read those that are named by their hash only, which
// such a folder holds beside the others, as links.
func authorityFiles(file, dir string) ([]string, error) {
	var files []string
	if file != "" {
		files = append(files, file)
	}
	if dir == "" {
		return files, nil
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		name := filepath.Join(dir, e.Name())
		if info, err := os.Stat(name); err == nil && info.Mode().IsRegular() {
			files = append(files, name)
		}
	}
	return files, nil
}

// readCertificates returns the certificates among the PEM blocks of a file, in
// order.
func readCertificates(name string) ([]*x509.Certificate, error) {
	blocks, err := readPEM(name)
	if err != nil {
		return nil, err
	}
	var certs []*x509.Certificate
	for _, b := range blocks {
		if b.Type != pemCertificate {
			continue
		}
		c, err := x509.ParseCertificate(b.Bytes)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		certs = append(certs, c)
	}
	return certs, nil
}

func readPEM(name string) ([]*pem.Block, error) {
	info, err := os.Stat(name)
	switch {
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("%s is no regular file", name)
	case info.Size() > maxPEMBytes:
		return nil, fmt.Errorf("%s is larger than %d bytes", name, maxPEMBytes)
	}
	rest, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	var blocks []*pem.Block
	for {
		var b *pem.Block
		if b, rest = pem.Decode(rest); b == nil {
			return blocks, nil
		}
		blocks = append(blocks, b)
	}
}

// A fileStamp tells whether a file was replaced or written.
type fileStamp struct {
	name  string
	size  int64 // -1: it cannot be looked at
	mtime time.Time
}

// stampFiles looks at every file that cfg's TLS comes from.
func stampFiles(cfg *config.Config) []fileStamp {
	names := []string{cfg.TLSCertFile, cfg.TLSKeyFile}
	if cfg.TLSAuthClients != config.TLSAuthNo {
		files, err := authorityFiles(cfg.TLSCACertFile, cfg.TLSCACertDir)
		names = append(names, files...)
		if err != nil {
			names = append(names, cfg.TLSCACertDir)
		}
	}
	stamps := make([]fileStamp, len(names))
	for i, name := range names {
		stamps[i] = fileStamp{name: name, size: -1}
		if info, err := os.Stat(name); err == nil {
			stamps[i].size, stamps[i].mtime = info.Size(), info.ModTime()
		}
	}
	return stamps
}

func sameStamps(a, b []fileStamp) bool {
	return slices.EqualFunc(a, b, func(x, y fileStamp) bool {
		return x.name == y.name && x.size == y.size && x.mtime.Equal(y.mtime)
	})
}
