package cluster

import (
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// ackTimeoutControl returns a dialer's Control function that closes the connection when sent
// bytes stay unacknowledged for d. The kernel's own default is a quarter of an hour.
func ackTimeoutControl(d time.Duration) func(network, address string, c syscall.RawConn) error {
	return func(_, _ string, c syscall.RawConn) error {
		var set error
		if err := c.Control(func(fd uintptr) {
			set = unix.SetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT, int(d.Milliseconds()))
		}); err != nil {
			return err
		}
		return set
	}
}
