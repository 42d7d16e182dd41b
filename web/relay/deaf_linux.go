package relay

import (
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// giveUpAfter has a connection end when for so long nothing that was sent on it was
// acknowledged: by itself the kernel tries for a quarter of an hour.
func giveUpAfter(d time.Duration) func(network, address string, c syscall.RawConn) error {
	return func(_, _ string, c syscall.RawConn) error {
		var set error
		if err := c.Control(func(fd uintptr) {
			set = unix.SetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT, int(d.Milliseconds())) //nolint:gosec // a descriptor
		}); err != nil {
			return err //nolint:wrapcheck // the dialer says where
		}
		return set
	}
}
