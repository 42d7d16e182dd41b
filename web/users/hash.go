package users

import (
	"crypto/rand"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"

	"golang.org/x/crypto/argon2"
	"golang.org/x/crypto/bcrypt"
)

// What a hash may cost.
const (
	mostMemory = 256 << 10 // KiB of argon2id
	mostPasses = 10        // of argon2id
	mostLanes  = 16        // of argon2id
	mostBcrypt = 14        // its cost, about a second
)

// What Hash costs.
const (
	ownMemory = 19 << 10 // KiB
	ownPasses = 2
	ownLanes  = 1
	saltSize  = 16
	keySize   = 32
)

// A hash is what is kept of a password. The zero value fits none.
type hash struct {
	text   string // of bcrypt; empty: it is argon2id's
	memory uint32 // KiB
	passes uint32
	lanes  uint8
	salt   []byte
	key    []byte
}

// Hash is what is to be kept of a password, by argon2id.
func Hash(password string) (string, error) {
	if err := CheckPassword(password); err != nil {
		return "", err
	}
	salt := make([]byte, saltSize)
	_, _ = rand.Read(salt) // never fails, by its contract
	key := argon2.IDKey([]byte(password), salt, ownPasses, ownMemory, ownLanes, keySize)
	e := base64.RawStdEncoding
	return fmt.Sprintf("$argon2id$v=%d$m=%d,t=%d,p=%d$%s$%s", argon2.Version, ownMemory, ownPasses, ownLanes, e.EncodeToString(salt), e.EncodeToString(key)), nil
}

// The bounds of a password, in bytes.
const (
	LeastPassword = 8
	MostPassword  = 1024
)

// CheckPassword says why a password cannot be given to somebody.
func CheckPassword(password string) error {
	if n := len(password); n < LeastPassword || n > MostPassword {
		return fmt.Errorf("a password has %d to %d bytes, this one has %d", LeastPassword, MostPassword, n)
	}
	return nil
}

// parseHash reads a hash, and refuses one that would cost too much.
func parseHash(text string) (hash, error) {
	switch {
	case strings.HasPrefix(text, "$argon2id$"):
		return parseArgon(text)
	case strings.HasPrefix(text, "$2a$"), strings.HasPrefix(text, "$2b$"), strings.HasPrefix(text, "$2y$"):
		cost, err := bcrypt.Cost([]byte(text))
		if err != nil || len(text) != 60 {
			return hash{}, errors.New("this is no hash of bcrypt's")
		}
		if cost > mostBcrypt {
			return hash{}, fmt.Errorf("the cost of a hash of bcrypt's is at most %d, not %d", mostBcrypt, cost)
		}
		return hash{text: text}, nil
	default:
		return hash{}, errors.New("the hash is neither argon2id's nor bcrypt's: `mayfly users hash` makes one")
	}
}

func parseArgon(text string) (hash, error) {
	bad := errors.New("this is no hash of argon2id's")
	parts := strings.Split(text, "$")
	if len(parts) != 6 || parts[2] != fmt.Sprintf("v=%d", argon2.Version) {
		return hash{}, bad
	}
	var h hash
	var end string
	if n, err := fmt.Sscanf(parts[3]+" .", "m=%d,t=%d,p=%d %s", &h.memory, &h.passes, &h.lanes, &end); n != 4 || err != nil {
		return hash{}, bad
	}
	if h.memory < 8*uint32(h.lanes) || h.memory > mostMemory || h.passes < 1 || h.passes > mostPasses || h.lanes < 1 || h.lanes > mostLanes {
		return hash{}, fmt.Errorf("a hash of argon2id's takes at most m=%d, t=%d, p=%d and at least 8 KiB a lane, not %s", mostMemory, mostPasses, mostLanes, cut(parts[3]))
	}
	var err error
	if h.salt, err = base64.RawStdEncoding.DecodeString(parts[4]); err != nil || len(h.salt) < 8 || len(h.salt) > 64 {
		return hash{}, bad
	}
	if h.key, err = base64.RawStdEncoding.DecodeString(parts[5]); err != nil || len(h.key) < 16 || len(h.key) > 64 {
		return hash{}, bad
	}
	return h, nil
}

// fits tells whether it is of a password. It takes as long for one that it is not of.
func (h hash) fits(password string) bool {
	if h.text != "" {
		return bcrypt.CompareHashAndPassword([]byte(h.text), []byte(password)) == nil
	}
	key := argon2.IDKey([]byte(password), h.salt, h.passes, h.memory, h.lanes, uint32(len(h.key)))
	return len(h.key) > 0 && subtle.ConstantTimeCompare(key, h.key) == 1
}

// cut is text of the file, short enough to be told.
func cut(s string) string {
	if len(s) > 64 {
		return strings.ToValidUTF8(s[:64], "") + "…"
	}
	return s
}
