//go:build !linux

package cluster

import (
	"syscall"
	"time"
)

// ackTimeoutControl returns nil: the kernel decides for how long unacknowledged bytes are sent
// again.
func ackTimeoutControl(time.Duration) func(network, address string, c syscall.RawConn) error {
	return nil
}
