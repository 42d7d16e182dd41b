package authority

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

// lookEvery is for how long nothing in the folder is expected to change.
const lookEvery = time.Second

// Options say what certificates are for.
type Options struct {
	Dir string // the folder; made if it is not there
	// Names are what a server is called beside localhost, 127.0.0.1, ::1 and
	// anything below servicebus.windows.net: DNS names, which may begin with "*.",
	// and addresses. CheckName says what they may be.
	Names  []string
	Logger *slog.Logger     // zero: slog.Default
	Now    func() time.Time // zero: time.Now
}

// An Authority is a folder's certificate. It is safe for concurrent use.
type Authority struct {
	dir   string
	asked []string // names beside those that every certificate is for
	log   *slog.Logger
	now   func() time.Time

	present atomic.Pointer[served]
	mu      sync.Mutex // held while the folder is looked at
	told    string     // what was last logged to be wrong; guarded by mu
}

// served is a certificate and what it came from.
type served struct {
	cert   tls.Certificate
	names  []string    // that it is for
	ca     string      // path of the CA; empty: it is the operator's
	issuer *issuer     // nil: likewise
	from   fingerprint // of the files
	renew  time.Time   // when it is to be made anew; zero: it is the operator's
	looked time.Time   // at the folder
}

// Open makes what is missing in the folder. The error is a sentence about one of
// its files.
func Open(o Options) (*Authority, error) {
	a := &Authority{dir: o.Dir, log: cmp.Or(o.Logger, slog.Default()), now: o.Now}
	if a.now == nil {
		a.now = time.Now
	}
	for _, n := range o.Names {
		name, err := CheckName(n)
		if err != nil {
			return nil, err
		}
		if !slices.Contains(a.names(), name) {
			a.asked = append(a.asked, name)
		}
	}
	if err := os.MkdirAll(o.Dir, 0o755); err != nil { //nolint:gosec // what is in it has modes of its own, and the CA is for others to read
		return nil, fmt.Errorf("the folder %s cannot be made: %w", o.Dir, reason(err))
	}
	s, err := a.load(nil)
	if err != nil {
		return nil, err
	}
	a.present.Store(s)
	return a, nil
}

// names are what a certificate of ours is for.
func (a *Authority) names() []string {
	return append([]string{"localhost", "127.0.0.1", "::1", "*.servicebus.windows.net"}, a.asked...)
}

// Config is for a listener that speaks one of protocols, or asks nobody what
// they speak.
func (a *Authority) Config(protocols ...string) *tls.Config {
	return &tls.Config{
		MinVersion: tls.VersionTLS12,
		NextProtos: protocols,
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) {
			return &a.refreshed().cert, nil
		},
	}
}

// CA is the path of what clients are to trust; empty where the operator's
// certificate is served.
func (a *Authority) CA() string { return a.present.Load().ca }

// Names are what the certificate is for: addresses, and names of which some may
// begin with "*.". They are not to be changed.
func (a *Authority) Names() []string { return a.present.Load().names }

// refreshed is what is to be served now. One caller at a time looks at the
// folder; others have what there was.
func (a *Authority) refreshed() *served {
	was, now := a.present.Load(), a.now()
	if now.Sub(was.looked).Abs() < lookEvery && (was.renew.IsZero() || now.Before(was.renew)) || !a.mu.TryLock() {
		return was
	}
	defer a.mu.Unlock()
	next, err := a.load(was)
	if err != nil {
		again := *was // what there is has to do
		again.looked = now
		next = &again
		if text := err.Error(); text != a.told {
			a.told = text
			a.log.Error("the certificate for TLS cannot be renewed; the former one is still served", "err", err)
		}
	} else {
		a.told = ""
	}
	a.present.Store(next)
	return next
}

// load is what the folder says is to be served. was is what it said before; nil
// at the start.
func (a *Authority) load(was *served) (*served, error) {
	from, err := a.fingerprint()
	if err != nil {
		return nil, err
	}
	now := a.now()
	if was != nil && was.from == from && (was.renew.IsZero() || now.Before(was.renew)) {
		again := *was
		again.looked = now
		return &again, nil
	}
	if from.given() {
		return a.given(from)
	}
	return a.own(was)
}

// A fingerprint tells whether the files that count are others than before.
type fingerprint [3]struct {
	size int64 // -1: there is no such file
	at   time.Time
}

func (a *Authority) fingerprint() (f fingerprint, err error) {
	for i, name := range []string{fileCert, fileKey, fileIssuer} {
		about, err := os.Stat(a.path(name))
		switch {
		case err == nil:
			f[i].size, f[i].at = about.Size(), about.ModTime()
		case errors.Is(err, fs.ErrNotExist):
			f[i].size = -1
		default:
			return f, fmt.Errorf("%s cannot be read: %w", a.path(name), reason(err))
		}
	}
	return f, nil
}

// given tells whether the operator has put something there.
func (f fingerprint) given() bool { return f[0].size >= 0 || f[1].size >= 0 }

func (a *Authority) path(name string) string { return filepath.Join(a.dir, name) }

// reason is an error without the path that the sentence around it names.
func reason(err error) error {
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		return e.Err
	}
	return err
}
