package sas

import (
	"log/slog"
	"net/netip"
	"sync"
)

// maxUnknownHosts is how many hosts an UnknownHosts remembers.
const maxUnknownHosts = 100

// An UnknownHosts decides about clients whose host names no namespace and is no name of the
// server, as in other.servicebus.windows.net where there is no namespace "other". Such
// clients get the server's own namespace, unless Refuse is set. Each such host is logged
// once. An UnknownHosts is safe for concurrent use; nil permits all hosts.
type UnknownHosts struct {
	Refuse   bool
	IsServer func(host string) bool // as in Names
	Logger   *slog.Logger

	mu     sync.Mutex
	logged map[string]bool
}

// Refuses reports whether a client that calls the server by the given hosts is refused. Hosts may have
// a port. Empty hosts are ignored. The caller has found that none of them names a namespace.
func (u *UnknownHosts) Refuses(hosts ...string) bool {
	if u == nil {
		return false
	}
	first := ""
	for _, h := range hosts {
		host, ok := parseHost(h)
		if !ok {
			continue
		}
		if _, err := netip.ParseAddr(host); err == nil || host == "localhost" || u.IsServer != nil && u.IsServer(host) {
			return false
		}
		if first == "" {
			first = host
		}
	}
	if first == "" {
		return false
	}
	if u.isFirst(first) {
		text := "client's host names no namespace; using the server's own namespace"
		if u.Refuse {
			text = "client's host names no namespace; client refused"
		}
		u.Logger.Info(text, "host", first) //nolint:sloglint // one of two constants
	}
	return u.Refuse
}

func (u *UnknownHosts) isFirst(host string) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.logged[host] || len(u.logged) >= maxUnknownHosts {
		return false
	}
	if u.logged == nil {
		u.logged = map[string]bool{}
	}
	u.logged[host] = true
	return true
}
