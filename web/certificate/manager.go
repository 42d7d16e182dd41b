package certificate

import (
	"cmp"
	"crypto/tls"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// The files of a folder.
const (
	fileCert   = "tls.crt"
	fileKey    = "tls.key"
	fileCA     = "ca.pem"
	fileIssuer = "issuer.pem"
)

// checkInterval is how long the folder is assumed not to change.
const checkInterval = time.Second

// Options are the settings of a Manager.
type Options struct {
	Dir string // the folder; created if missing
	// Names are names of the server beside localhost, 127.0.0.1, ::1 and everything below
	// servicebus.windows.net: DNS names, which may begin with "*.", and addresses. CheckName
	// checks them.
	Names []string
	// ExtraNames are further names and addresses by which clients may connect. They change with the
	// network and with where a server listens, so the certificate has only those that its CA
	// may sign: all of them when the CA is created. No new CA is created for one, since
	// clients would have to trust it. Names that no certificate can have are left out.
	ExtraNames []string
	Logger     *slog.Logger     // zero means slog.Default
	Now        func() time.Time // zero means time.Now
}

// A Manager manages a folder's certificate. It is safe for concurrent use.
type Manager struct {
	dir            string
	requestedNames []string // names beside those that every certificate has
	extraNames     []string // further ones, if the CA may sign them
	log            *slog.Logger
	now            func() time.Time

	current   atomic.Pointer[loaded]
	mu        sync.Mutex // held while the folder is checked
	lastError string     // the error that was logged last; guarded by mu
}

// loaded is a certificate and its origin.
type loaded struct {
	cert    tls.Certificate
	names   []string    // the certificate's names
	ca      string      // path of the CA; empty for the operator's certificate
	issuer  *issuer     // nil for the operator's certificate
	files   fingerprint // of the files
	renew   time.Time   // when to make a new one; zero for the operator's certificate
	checked time.Time   // when the folder was last checked
}

// Open returns the Manager of a folder, in which it creates the files that are missing. The error is a
// sentence about an invalid name or one of the files.
func Open(o Options) (*Manager, error) {
	a := &Manager{dir: o.Dir, log: cmp.Or(o.Logger, slog.Default()), now: o.Now}
	if a.now == nil {
		a.now = time.Now
	}
	for _, n := range o.Names {
		name, err := CheckName(n)
		if err != nil {
			return nil, err
		}
		if !slices.Contains(a.certificateNames(), name) {
			a.requestedNames = append(a.requestedNames, name)
		}
	}
	for _, n := range o.ExtraNames {
		if name, err := CheckName(n); err == nil && !slices.Contains(a.certificateNames(), name) && !slices.Contains(a.extraNames, name) {
			a.extraNames = append(a.extraNames, name)
		}
	}
	if err := os.MkdirAll(o.Dir, 0o755); err != nil { // the files have modes of their own, and other users must read the CA
		return nil, fmt.Errorf("the folder %s cannot be created: %w", o.Dir, withoutPath(err))
	}
	s, err := a.load(nil)
	if err != nil {
		return nil, err
	}
	a.current.Store(s)
	return a, nil
}

// certificateNames returns the names of a certificate of the local CA.
func (a *Manager) certificateNames() []string {
	return append([]string{"localhost", "127.0.0.1", "::1", "*.servicebus.windows.net"}, a.requestedNames...)
}

// Config returns the configuration of a TLS listener that negotiates one of the given application
// protocols (ALPN), or none if there are none.
func (a *Manager) Config(protocols ...string) *tls.Config {
	return &tls.Config{
		MinVersion: tls.VersionTLS12,
		NextProtos: protocols,
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) {
			return &a.refresh().cert, nil
		},
	}
}

// CA returns the path of the CA that clients must trust, or "" for the operator's certificate.
func (a *Manager) CA() string { return a.current.Load().ca }

// Names returns the names of the certificate: addresses, and DNS names, some of which may
// begin with "*.". The caller must not change the slice.
func (a *Manager) Names() []string { return a.current.Load().names }

// refresh returns the certificate to serve now. One caller at a time checks the folder;
// meanwhile others get the previous certificate.
func (a *Manager) refresh() *loaded {
	was, now := a.current.Load(), a.now()
	if now.Sub(was.checked).Abs() < checkInterval && (was.renew.IsZero() || now.Before(was.renew)) || !a.mu.TryLock() {
		return was
	}
	defer a.mu.Unlock()
	next, err := a.load(was)
	if err != nil {
		again := *was // keep the previous one
		again.checked = now
		next = &again
		if text := err.Error(); text != a.lastError {
			a.lastError = text
			a.log.Error("the TLS certificate cannot be renewed; serving the previous one", "err", err)
		}
	} else {
		a.lastError = ""
	}
	a.current.Store(next)
	return next
}

// load returns the certificate to serve with the folder's current content. `was` is the previous
// certificate, nil at the start; load returns it again if no file has changed and it need not be
// renewed.
func (a *Manager) load(was *loaded) (*loaded, error) {
	from, err := a.fingerprint()
	if err != nil {
		return nil, err
	}
	now := a.now()
	if was != nil && was.files == from && (was.renew.IsZero() || now.Before(was.renew)) {
		again := *was
		again.checked = now
		return &again, nil
	}
	if from.hasOperatorFiles() {
		return a.loadOperator(from)
	}
	return a.loadLocal(was)
}

// A fingerprint changes when a relevant file of the folder does.
type fingerprint [3]struct {
	size int64 // -1 if there is no such file
	at   time.Time
}

func (a *Manager) fingerprint() (f fingerprint, err error) {
	for i, name := range []string{fileCert, fileKey, fileIssuer} {
		about, err := os.Stat(a.path(name))
		switch {
		case err == nil:
			f[i].size, f[i].at = about.Size(), about.ModTime()
		case errors.Is(err, fs.ErrNotExist):
			f[i].size = -1
		default:
			return f, fmt.Errorf("%s cannot be read: %w", a.path(name), withoutPath(err))
		}
	}
	return f, nil
}

// hasOperatorFiles reports whether the operator has put a certificate or key in the folder.
func (f fingerprint) hasOperatorFiles() bool { return f[0].size >= 0 || f[1].size >= 0 }

func (a *Manager) path(name string) string { return filepath.Join(a.dir, name) }

// withoutPath returns an error without its path, which the sentence around it names.
func withoutPath(err error) error {
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		return e.Err
	}
	return err
}
