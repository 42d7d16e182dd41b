package authority

import (
	"bytes"
	"crypto/tls"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"time"
)

// own is a certificate from the folder's own CA, which is made if there is none,
// or it cannot do what it is to: then it is replaced by one that can, and that
// does what the former could.
func (a *Authority) own(was *served) (*served, error) {
	now := a.now()
	i, err := a.read()
	if err != nil {
		return nil, err
	}
	if i == nil {
		if i, err = a.make(now, nil); err != nil {
			return nil, err
		}
	} else if was == nil {
		a.guard()
	}
	cert, err := a.certify(i, now)
	if err != nil {
		a.log.Warn("there is a new local CA; clients that trusted the former one are to trust it instead", "why", err, "ca", a.path(fileCA))
		if i, err = a.make(now, i); err != nil {
			return nil, err
		}
		if cert, err = a.certify(i, now); err != nil { // somebody else's, made at this very moment
			return nil, fmt.Errorf("%s does not do: %w", a.path(fileIssuer), err)
		}
	}
	from, err := a.fingerprint()
	if err != nil {
		return nil, err
	}
	s := &served{cert: cert, names: named(cert.Leaf), ca: a.path(fileCA), issuer: i, from: from, renew: cert.Leaf.NotAfter.Add(-leafRenew), looked: now}
	if was != nil {
		a.log.Info("there is a new certificate for TLS", "until", cert.Leaf.NotAfter)
	}
	return s, a.publish(i)
}

// certify is a certificate of the issuer that clients will take, or why it can
// give none.
func (a *Authority) certify(i *issuer, now time.Time) (tls.Certificate, error) {
	if now.Add(leafLife).After(i.cert.NotAfter) {
		return tls.Certificate{}, fmt.Errorf("it ends on %s", i.cert.NotAfter.Format(time.DateOnly))
	}
	cert, err := i.leaf(a.names(), now)
	if err == nil {
		err = i.verify(cert.Leaf, now)
	}
	return cert, err
}

// guard warns of a key that others may read.
func (a *Authority) guard() {
	about, err := os.Stat(a.path(fileIssuer))
	if err == nil && runtime.GOOS != "windows" && about.Mode().Perm()&0o077 != 0 {
		a.log.Warn("others may read the key of the local CA", "file", a.path(fileIssuer), "mode", about.Mode().Perm().String())
	}
}

// make writes a new issuer and returns the one that is there then, which may be
// another server's that had the same thought.
func (a *Authority) make(now time.Time, instead *issuer) (*issuer, error) {
	c := constrain(a.names(), nil)
	if instead != nil {
		c = constrain(a.names(), instead.root)
	}
	i, err := newIssuer(c, now)
	if err != nil {
		return nil, err
	}
	raw, err := i.encode()
	if err != nil {
		return nil, err
	}
	if instead == nil {
		err = a.write(fileIssuer, raw, 0o600, os.Link)
	} else {
		err = a.write(fileIssuer, raw, 0o600, os.Rename)
	}
	if err != nil {
		return nil, err
	}
	there, err := a.read()
	if err == nil && there == nil {
		err = fmt.Errorf("%s was removed", a.path(fileIssuer))
	}
	return there, err
}

// publish sees that the CA's file is the root of the issuer.
func (a *Authority) publish(i *issuer) error {
	want := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: i.root.Raw})
	if have, err := os.ReadFile(a.path(fileCA)); err == nil && bytes.Equal(have, want) {
		return nil
	}
	return a.write(fileCA, want, 0o644, os.Rename)
}

// write makes a file that is whole or not there. place puts it where it belongs:
// os.Link leaves alone what is there, os.Rename replaces it.
func (a *Authority) write(name string, content []byte, mode os.FileMode, place func(from, to string) error) (err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("%s cannot be written: %w", a.path(name), reason(err))
		}
	}()
	f, err := os.CreateTemp(a.dir, ".new-*") // for nobody else to read
	if err != nil {
		return err //nolint:wrapcheck // as above
	}
	defer os.Remove(f.Name()) //nolint:errcheck // after a rename it is gone
	_, err = f.Write(content)
	err = errors.Join(err, f.Chmod(mode), f.Sync(), f.Close())
	if err != nil {
		return err
	}
	err = place(f.Name(), filepath.Join(a.dir, name))
	switch {
	case err == nil, errors.Is(err, fs.ErrExist):
		return nil
	case errors.As(err, new(*os.LinkError)): // not every file system has links
		return os.Rename(f.Name(), filepath.Join(a.dir, name)) //nolint:wrapcheck // as above
	}
	return err
}
