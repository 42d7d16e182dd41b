package cluster

import (
	"crypto/tls"
	"net/http/httptest"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// TestDeafPathsAreGivenUp checks the TCP options of a connection to another server: the kernel
// closes it after ackTimeout without acknowledgements, both while data is unacknowledged and, by
// keep-alive probes, while it is idle.
func TestDeafPathsAreGivenUp(t *testing.T) {
	s := httptest.NewTLSServer(nil)
	defer s.Close()
	nc, err := dialOne(t.Context(), &tls.Config{InsecureSkipVerify: true}, s.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	raw, err := nc.(*tls.Conn).NetConn().(syscall.Conn).SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	option := func(level, name int) (is int) {
		t.Helper()
		if cerr := raw.Control(func(fd uintptr) { is, err = unix.GetsockoptInt(int(fd), level, name) }); cerr != nil || err != nil {
			t.Fatal(cerr, err)
		}
		return is
	}
	if got := option(unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT); got != int(ackTimeout.Milliseconds()) {
		t.Errorf("the timeout of unacknowledged data is %d ms", got)
	}
	idle, every, times := option(unix.IPPROTO_TCP, unix.TCP_KEEPIDLE), option(unix.IPPROTO_TCP, unix.TCP_KEEPINTVL), option(unix.IPPROTO_TCP, unix.TCP_KEEPCNT)
	if on := option(unix.SOL_SOCKET, unix.SO_KEEPALIVE); on == 0 || idle+every*times != int(ackTimeout.Seconds()) {
		t.Errorf("keep-alive begins after %d s, %d probes, every %d s; on: %d", idle, times, every, on)
	}
}
