package broker

import (
	"crypto"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"strings"
)

// Types of the PEM blocks that hold keys.
const (
	pemKey          = "PRIVATE KEY" // PKCS#8; others end in it: "RSA PRIVATE KEY"
	pemEncryptedKey = "ENCRYPTED PRIVATE KEY"
)

var (
	errNoKey     = errors.New("there is no private key")
	errKeyPass   = errors.New("the key is encrypted: set tls-key-file-pass")
	errKeyKind   = errors.New("keys of this kind are not supported")
	errDecrypted = errors.New("tls-key-file-pass does not decrypt the key")
)

// readKey returns the first private key in a PEM file: PKCS#8, PKCS#1 or
// SEC 1. An encrypted one is decrypted with pass: PKCS#8 with PBES2 as OpenSSL
// writes it, see decryptPKCS8, or the older form that names its cipher in a
// DEK-Info header. Keys that are not encrypted ignore pass, as in Redis.
func readKey(name, pass string) (crypto.Signer, error) {
	blocks, err := readPEM(name)
	if err != nil {
		return nil, err
	}
	for _, b := range blocks {
		if b.Type != pemKey && !strings.HasSuffix(b.Type, " "+pemKey) {
			continue
		}
		key, err := parseKey(b, pass)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		return key, nil
	}
	return nil, fmt.Errorf("%s: %w", name, errNoKey)
}

func parseKey(b *pem.Block, pass string) (crypto.Signer, error) {
	der, decrypted := b.Bytes, true
	var err error
	switch {
	case b.Type == pemEncryptedKey:
		if pass == "" {
			return nil, errKeyPass
		}
		if der, err = decryptPKCS8(der, pass); err != nil {
			return nil, err
		}
	case b.Headers["DEK-Info"] != "":
		if pass == "" {
			return nil, errKeyPass
		}
		// Deprecated because the form does not notice that it was tampered
		// with; who can do that to the key can replace it as well.
		if der, err = x509.DecryptPEMBlock(b, []byte(pass)); err != nil {
			return nil, errDecrypted
		}
	default:
		decrypted = false
	}
	var key any
	switch b.Type {
	case "RSA PRIVATE KEY":
		key, err = x509.ParsePKCS1PrivateKey(der)
	case "EC PRIVATE KEY":
		key, err = x509.ParseECPrivateKey(der)
	default:
		key, err = x509.ParsePKCS8PrivateKey(der)
	}
	signer, ok := key.(crypto.Signer)
	switch {
	case err != nil && decrypted:
		// A wrong password leaves noise that happens to end like a padding.
		return nil, errDecrypted
	case err != nil:
		return nil, err
	case !ok:
		return nil, errKeyKind
	}
	return signer, nil
}
