package broker

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/des"
	"crypto/pbkdf2"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/asn1"
	"errors"
	"hash"
)

// maxKeyIterations bounds the work that a key's file asks for: some seconds.
// OpenSSL writes 2048, the highest advice in use is 1.3 million.
const maxKeyIterations = 10_000_000

var (
	errKeyCipher = errors.New("this encryption of the key is not supported (PBES2 with PBKDF2 and AES or triple DES in CBC mode is)")
	errKeyWork   = errors.New("the encryption of the key asks for too many iterations")
)

// Object identifiers of RFC 8018, appendix C, and of the AES modes.
var (
	oidPBES2  = asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 5, 13}
	oidPBKDF2 = asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 5, 12}
)

// The structures of RFC 5208, section 6, and RFC 8018, appendices A.2 and A.4.
type (
	algorithm struct {
		ID         asn1.ObjectIdentifier
		Parameters asn1.RawValue `asn1:"optional"`
	}
	encryptedKey struct {
		Algorithm algorithm
		Data      []byte
	}
	pbes2Parameters struct {
		KDF, Cipher algorithm
	}
	pbkdf2Parameters struct {
		Salt       []byte
		Iterations int
		KeyBytes   int       `asn1:"optional"`
		PRF        algorithm `asn1:"optional"`
	}
)

// prfs are the hash functions under PBKDF2, by object identifier; the empty
// one is the default.
var prfs = map[string]func() hash.Hash{
	"":                    sha1.New,
	"1.2.840.113549.2.7":  sha1.New,
	"1.2.840.113549.2.9":  sha256.New,
	"1.2.840.113549.2.10": sha512.New384,
	"1.2.840.113549.2.11": sha512.New,
}

// keyCiphers are the ciphers in CBC mode, with the length of their keys.
var keyCiphers = map[string]struct {
	keyBytes int
	block    func(key []byte) (cipher.Block, error)
}{
	"2.16.840.1.101.3.4.1.2":  {16, aes.NewCipher},
	"2.16.840.1.101.3.4.1.22": {24, aes.NewCipher},
	"2.16.840.1.101.3.4.1.42": {32, aes.NewCipher},
	"1.2.840.113549.3.7":      {24, des.NewTripleDESCipher},
}

// decryptPKCS8 decrypts an EncryptedPrivateKeyInfo to the PrivateKeyInfo in
// it, where it is encrypted with PBES2, PBKDF2 and a cipher in CBC mode, as
// OpenSSL does unless told otherwise. Not supported: scrypt, and the PBES1 and
// PKCS#12 schemes, which are long considered weak. The errors are
// errKeyCipher, errKeyWork and errDecrypted.
func decryptPKCS8(der []byte, pass string) ([]byte, error) {
	var (
		key    encryptedKey
		scheme pbes2Parameters
		kdf    pbkdf2Parameters
		iv     []byte
	)
	if !parse(der, &key) || !key.Algorithm.ID.Equal(oidPBES2) ||
		!parse(key.Algorithm.Parameters.FullBytes, &scheme) || !scheme.KDF.ID.Equal(oidPBKDF2) ||
		!parse(scheme.KDF.Parameters.FullBytes, &kdf) ||
		!parse(scheme.Cipher.Parameters.FullBytes, &iv) {
		return nil, errKeyCipher
	}
	prf, known := prfs[kdf.PRF.ID.String()]
	c, ok := keyCiphers[scheme.Cipher.ID.String()]
	if !known || !ok {
		return nil, errKeyCipher
	}
	if kdf.Iterations < 1 || kdf.Iterations > maxKeyIterations {
		return nil, errKeyWork
	}
	secret, err := pbkdf2.Key(prf, pass, kdf.Salt, kdf.Iterations, c.keyBytes)
	if err != nil {
		return nil, err
	}
	block, err := c.block(secret)
	if err != nil {
		return nil, err
	}
	size := block.BlockSize()
	if len(iv) != size || len(key.Data) == 0 || len(key.Data)%size != 0 {
		return nil, errKeyCipher
	}
	plain := make([]byte, len(key.Data))
	cipher.NewCBCDecrypter(block, iv).CryptBlocks(plain, key.Data)
	padding := int(plain[len(plain)-1])
	if padding < 1 || padding > size {
		return nil, errDecrypted
	}
	return plain[:len(plain)-padding], nil
}

// parse reads exactly one value.
func parse(der []byte, into any) bool {
	rest, err := asn1.Unmarshal(der, into)
	return err == nil && len(rest) == 0
}
