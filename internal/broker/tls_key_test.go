package broker

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/asn1"
	"encoding/pem"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

const keyPass = "correct horse" // of the files in testdata/keys

func TestReadKey_ReadsWhatOpenSSLWrites(t *testing.T) {
	files, err := filepath.Glob("testdata/keys/*.pem")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	want, err := readKey("testdata/keys/plain.pem", "")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range files {
		base := filepath.Base(name)
		t.Run(base, func(t *testing.T) {
			got, err := readKey(name, keyPass)
			if refused, _ := filepath.Match("refused-*", base); refused {
				if !errors.Is(err, errKeyCipher) {
					t.Errorf("%v, want %v", err, errKeyCipher)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if !want.(*ecdsa.PrivateKey).Equal(got) {
				t.Error("this is another key")
			}
			if base == "plain.pem" || base == "sec1.pem" {
				return // not encrypted: a password does no harm
			}
			if _, err := readKey(name, ""); !errors.Is(err, errKeyPass) {
				t.Errorf("without a password: %v, want %v", err, errKeyPass)
			}
			if _, err := readKey(name, "wrong"); !errors.Is(err, errDecrypted) {
				t.Errorf("with a wrong password: %v, want %v", err, errDecrypted)
			}
		})
	}
}

// TestReadKey_WrongPasswords tries some of which a few leave noise that ends
// like a padding.
func TestReadKey_WrongPasswords(t *testing.T) {
	data, err := os.ReadFile("testdata/keys/pkcs8-default.pem")
	if err != nil {
		t.Fatal(err)
	}
	block, _ := pem.Decode(data)
	padded := 0
	for i := range 40 {
		pass := fmt.Sprintf("wrong %d", i)
		if _, err := decryptPKCS8(block.Bytes, pass); err == nil {
			padded++
		}
		if _, err := parseKey(block, pass); !errors.Is(err, errDecrypted) {
			t.Errorf("%q: %v, want %v", pass, err, errDecrypted)
		}
	}
	if padded == 0 {
		t.Error("no password left something like a padding: choose others")
	}
}

func TestReadKey_RSA(t *testing.T) {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(t.TempDir(), "key")
	// Parameters may stand before the key, the certificate with it.
	data := pem.EncodeToMemory(&pem.Block{Type: "EC PARAMETERS", Bytes: []byte{5, 0}})
	data = append(data, pem.EncodeToMemory(&pem.Block{Type: pemCertificate, Bytes: []byte("no key")})...)
	data = append(data, pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(key)})...)
	writeFile(t, name, data)
	got, err := readKey(name, "")
	if err != nil || !key.Equal(got) {
		t.Errorf("%v, or another key", err)
	}
}

func TestReadKey_Refuses(t *testing.T) {
	dir := t.TempDir()
	for name, tc := range map[string]struct {
		data []byte
		want string
	}{
		"empty":    {nil, errNoKey.Error()},
		"no PEM":   {[]byte("secret"), errNoKey.Error()},
		"no key":   {pem.EncodeToMemory(&pem.Block{Type: "X509 CRL"}), errNoKey.Error()},
		"garbage":  {pem.EncodeToMemory(&pem.Block{Type: pemKey, Bytes: []byte{1, 2, 3}}), "asn1: "},
		"too long": {bytes.Repeat([]byte{'\n'}, maxPEMBytes+1), "is larger than"},
	} {
		file := filepath.Join(dir, name)
		writeFile(t, file, tc.data)
		if _, err := readKey(file, keyPass); err == nil || !bytes.Contains([]byte(err.Error()), []byte(tc.want)) {
			t.Errorf("%s: %v, want %q", name, err, tc.want)
		}
	}
	if _, err := readKey(dir, ""); err == nil {
		t.Error("a folder was read as a key")
	}
	if _, err := readKey("/dev/zero", ""); err == nil {
		t.Error("a device was read as a key")
	}
}

func TestDecryptPKCS8_BoundsItsWork(t *testing.T) {
	data, err := os.ReadFile("testdata/keys/pkcs8-default.pem")
	if err != nil {
		t.Fatal(err)
	}
	block, _ := pem.Decode(data)
	few, _ := asn1.Marshal(2048)
	for _, n := range []int{0, -1, maxKeyIterations + 1, 1 << 40} {
		// The structure is built anew: the number's length changes those around it.
		var key encryptedKey
		var scheme pbes2Parameters
		var kdf pbkdf2Parameters
		if !parse(block.Bytes, &key) || !parse(key.Algorithm.Parameters.FullBytes, &scheme) ||
			!parse(scheme.KDF.Parameters.FullBytes, &kdf) {
			t.Fatal("the structure of the file is another")
		}
		kdf.Iterations = n
		scheme.KDF.Parameters = asn1.RawValue{FullBytes: marshal(t, kdf)}
		key.Algorithm.Parameters = asn1.RawValue{FullBytes: marshal(t, scheme)}
		if _, err := decryptPKCS8(marshal(t, key), keyPass); !errors.Is(err, errKeyWork) {
			t.Errorf("%d iterations: %v, want %v", n, err, errKeyWork)
		}
	}
	if !bytes.Contains(block.Bytes, few) {
		t.Error("the file asks for another number of iterations")
	}
	for i := range block.Bytes[:96] { // cut and changed in its structure: an error, no panic
		if _, err := decryptPKCS8(block.Bytes[:i], keyPass); err == nil {
			t.Errorf("%d of its bytes were enough", i)
		}
		changed := bytes.Clone(block.Bytes)
		changed[i] ^= 0x15
		_, _ = decryptPKCS8(changed, keyPass)
	}
}

func marshal(t *testing.T, v any) []byte {
	t.Helper()
	der, err := asn1.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return der
}

func writeFile(t *testing.T, name string, data []byte) {
	t.Helper()
	if err := os.WriteFile(name, data, 0o600); err != nil {
		t.Fatal(err)
	}
}
