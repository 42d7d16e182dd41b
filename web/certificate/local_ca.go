package certificate

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
	"slices"
	"time"
)

// loadLocal returns a certificate of the folder's local CA. It creates the CA if there is none. If the
// CA cannot sign the certificate, loadLocal replaces it with one that permits the same names too.
func (a *Manager) loadLocal(was *loaded) (*loaded, error) {
	now := a.now()
	i, err := a.readIssuer()
	if err != nil {
		return nil, err
	}
	if i == nil {
		if i, err = a.createIssuer(now, nil); err != nil {
			return nil, err
		}
	} else if was == nil {
		a.warnReadable()
	}
	cert, err := a.certify(i, now)
	if err != nil {
		a.log.Warn("a new local CA was created; make clients trust it in place of the previous one", "reason", err, "ca", a.path(fileCA))
		if i, err = a.createIssuer(now, i); err != nil {
			return nil, err
		}
		if cert, err = a.certify(i, now); err != nil { // another server's CA, made at this very moment
			return nil, fmt.Errorf("%s cannot sign a certificate: %w", a.path(fileIssuer), err)
		}
	}
	from, err := a.fingerprint()
	if err != nil {
		return nil, err
	}
	if was == nil {
		if lacks := slices.DeleteFunc(slices.Clone(a.extraNames), i.permits); len(lacks) > 0 {
			a.log.Info("the certificate does not cover all names and addresses of this server; --tls-name creates a new CA that may sign them, which clients must trust in place of the previous one", "lacks", lacks)
		}
	}
	s := &loaded{cert: cert, names: namesOf(cert.Leaf), ca: a.path(fileCA), issuer: i, files: from, renew: cert.Leaf.NotAfter.Add(-leafRenew), checked: now}
	if was != nil {
		a.log.Info("a new TLS certificate was created", "until", cert.Leaf.NotAfter)
	}
	return s, a.writeCA(i)
}

// certify returns a certificate signed by the issuer, for certificateNames and those of extraNames that
// the issuer permits. It returns an error if a client that trusts the root would reject the
// certificate, now or before the certificate expires.
func (a *Manager) certify(i *issuer, now time.Time) (tls.Certificate, error) {
	if now.Add(leafLife).After(i.cert.NotAfter) {
		return tls.Certificate{}, fmt.Errorf("the previous CA expires on %s", i.cert.NotAfter.Format(time.DateOnly))
	}
	names := a.certificateNames()
	for _, n := range a.extraNames {
		if i.permits(n) {
			names = append(names, n)
		}
	}
	cert, err := i.leaf(names, now)
	if err == nil {
		err = i.verify(cert.Leaf, now)
	}
	return cert, err
}

// warnReadable logs a warning if other users may read the key.
func (a *Manager) warnReadable() {
	about, err := os.Stat(a.path(fileIssuer))
	if err == nil && runtime.GOOS != "windows" && about.Mode().Perm()&0o077 != 0 {
		a.log.Warn("other users may read the key of the local CA", "file", a.path(fileIssuer), "mode", about.Mode().Perm().String())
	}
}

// createIssuer writes a new issuer, which replaces the issuer `instead` unless that is nil. It returns
// the issuer that is in the folder afterwards, which another server may have written at the same time.
func (a *Manager) createIssuer(now time.Time, instead *issuer) (*issuer, error) {
	names := append(a.certificateNames(), a.extraNames...)
	c := newConstraints(names, nil)
	if instead != nil {
		c = newConstraints(names, instead.root)
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
	there, err := a.readIssuer()
	if err == nil && there == nil {
		err = fmt.Errorf("%s was removed", a.path(fileIssuer))
	}
	return there, err
}

// writeCA makes the CA's file contain the root of the issuer.
func (a *Manager) writeCA(i *issuer) error {
	want := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: i.root.Raw})
	if have, err := os.ReadFile(a.path(fileCA)); err == nil && bytes.Equal(have, want) {
		return nil
	}
	return a.write(fileCA, want, 0o644, os.Rename)
}

// write writes a file atomically. move moves it into place: os.Link keeps an existing file,
// os.Rename replaces it.
func (a *Manager) write(name string, content []byte, mode os.FileMode, move func(from, to string) error) (err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("%s cannot be written: %w", a.path(name), withoutPath(err))
		}
	}()
	f, err := os.CreateTemp(a.dir, ".new-*") // only the owner may read it
	if err != nil {
		return err
	}
	defer os.Remove(f.Name()) //nolint:errcheck // after a rename the file is gone
	_, err = f.Write(content)
	err = errors.Join(err, f.Chmod(mode), f.Sync(), f.Close())
	if err != nil {
		return err
	}
	err = move(f.Name(), filepath.Join(a.dir, name))
	switch {
	case err == nil, errors.Is(err, fs.ErrExist):
		return nil
	case errors.As(err, new(*os.LinkError)): // not every file system supports links
		return os.Rename(f.Name(), filepath.Join(a.dir, name))
	}
	return err
}
