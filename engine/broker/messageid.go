package broker

import (
	"crypto/rand"
	"encoding/hex"
)

// NewMessageID is what the hosted service gives to a message without an id: one
// that no other has.
func NewMessageID() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails, by its contract
	return hex.EncodeToString(b[:])
}
