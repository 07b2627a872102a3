package acl

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"fmt"
)

// A password is the SHA-256 of one.
type password [sha256.Size]byte

// parseHash reads the 64 lower-case hexadecimal digits of a password.
func parseHash(digits string) (p password, ok bool) {
	if len(digits) != hex.EncodedLen(len(p)) {
		return p, false
	}
	for i := range len(digits) {
		if c := digits[i]; (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return p, false
		}
	}
	_, err := hex.Decode(p[:], []byte(digits))
	return p, err == nil
}

func (p password) String() string { return hex.EncodeToString(p[:]) }

// anyEqual reports whether p is one of list, in a time that depends on the
// length of the list only.
func anyEqual(list []password, p password) bool {
	found := 0
	for i := range list {
		found |= subtle.ConstantTimeCompare(list[i][:], p[:])
	}
	return found == 1
}

// MaxPasswordBits is the size of the largest password that GeneratePassword
// makes.
const MaxPasswordBits = 4096

// GeneratePassword returns a random password of so many bits, rounded up to
// whole hexadecimal digits. It panics when bits is not in 1 to MaxPasswordBits.
func GeneratePassword(bits int) string {
	if bits < 1 || bits > MaxPasswordBits {
		panic(fmt.Sprintf("acl: a password of %d bits", bits))
	}
	digits := (bits + 3) / 4
	random := make([]byte, (digits+1)/2)
	rand.Read(random) // never fails
	return hex.EncodeToString(random)[:digits]
}

// hash returns the SHA-256 of a password as a client sends it.
func hash(text []byte) password { return sha256.Sum256(text) }
