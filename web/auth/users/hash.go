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

	"mayfly/engine/shorten"
)

// Limits of a hash's cost.
const (
	maxMemory     = 256 << 10 // KiB of argon2id
	maxPasses     = 10        // of argon2id
	maxLanes      = 16        // of argon2id
	maxBcryptCost = 14        // its cost, about a second
)

// The cost of Hash.
const (
	argonMemory = 19 << 10 // KiB
	argonPasses = 2
	argonLanes  = 1
	saltSize    = 16
	keySize     = 32
)

// A hash is the stored form of a password. The zero value matches no password.
type hash struct {
	text   string // of bcrypt; empty for argon2id
	memory uint32 // KiB
	passes uint32
	lanes  uint8
	salt   []byte
	key    []byte
}

// Hash returns the hash to store for a password, by argon2id.
func Hash(password string) (string, error) {
	if err := CheckPassword(password); err != nil {
		return "", err
	}
	salt := make([]byte, saltSize)
	_, _ = rand.Read(salt) // never fails, by its contract
	key := argon2.IDKey([]byte(password), salt, argonPasses, argonMemory, argonLanes, keySize)
	e := base64.RawStdEncoding
	return fmt.Sprintf("$argon2id$v=%d$m=%d,t=%d,p=%d$%s$%s", argon2.Version, argonMemory, argonPasses, argonLanes, e.EncodeToString(salt), e.EncodeToString(key)), nil
}

// The bounds of a password, in bytes.
const (
	MinPassword = 8
	MaxPassword = 1024
)

// CheckPassword returns an error if a password has an invalid length.
func CheckPassword(password string) error {
	if n := len(password); n < MinPassword || n > MaxPassword {
		return fmt.Errorf("a password must have %d to %d bytes; this one has %d", MinPassword, MaxPassword, n)
	}
	return nil
}

// parseHash parses a hash, and refuses one that would cost too much.
func parseHash(text string) (hash, error) {
	switch {
	case strings.HasPrefix(text, "$argon2id$"):
		return parseArgon(text)
	case strings.HasPrefix(text, "$2a$"), strings.HasPrefix(text, "$2b$"), strings.HasPrefix(text, "$2y$"):
		cost, err := bcrypt.Cost([]byte(text))
		if err != nil || len(text) != 60 {
			return hash{}, errors.New("the bcrypt hash is not valid")
		}
		if cost > maxBcryptCost {
			return hash{}, fmt.Errorf("the cost of a bcrypt hash may be at most %d, not %d", maxBcryptCost, cost)
		}
		return hash{text: text}, nil
	default:
		return hash{}, errors.New("the hash is neither an argon2id nor a bcrypt hash: create one with `mayfly users hash`")
	}
}

func parseArgon(text string) (hash, error) {
	bad := errors.New("the argon2id hash is not valid")
	parts := strings.Split(text, "$")
	if len(parts) != 6 || parts[2] != fmt.Sprintf("v=%d", argon2.Version) {
		return hash{}, bad
	}
	var h hash
	var end string
	if n, err := fmt.Sscanf(parts[3]+" .", "m=%d,t=%d,p=%d %s", &h.memory, &h.passes, &h.lanes, &end); n != 4 || err != nil {
		return hash{}, bad
	}
	if h.memory < 8*uint32(h.lanes) || h.memory > maxMemory || h.passes < 1 || h.passes > maxPasses || h.lanes < 1 || h.lanes > maxLanes {
		return hash{}, fmt.Errorf("an argon2id hash may take at most m=%d, t=%d, p=%d and must take at least 8 KiB a lane, not %s", maxMemory, maxPasses, maxLanes, shorten.Quote(parts[3]))
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

// matches reports whether h is the hash of the password. It takes the same time in either case.
func (h hash) matches(password string) bool {
	if h.text != "" {
		return bcrypt.CompareHashAndPassword([]byte(h.text), []byte(password)) == nil
	}
	key := argon2.IDKey([]byte(password), h.salt, h.passes, h.memory, h.lanes, uint32(len(h.key)))
	return len(h.key) > 0 && subtle.ConstantTimeCompare(key, h.key) == 1
}
