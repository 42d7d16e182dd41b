package broker

import (
	"crypto/rand"
	"encoding/hex"
)

// NewMessageID returns a unique id, in the form that Azure Service Bus generates for a message
// without one.
func NewMessageID() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails, by its contract
	return hex.EncodeToString(b[:])
}
