package mongotest

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
)

// program returns the path of testserver, and builds it if necessary. If several test binaries
// need it at the same time, the others wait for the first.
func program() (path string, err error) {
	if path := os.Getenv(builtVar); path != "" {
		return path, nil
	}
	dir, err := moduleDir()
	if err != nil {
		return "", err
	}
	key, err := contentOf(dir)
	if err != nil {
		return "", err
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	cache = filepath.Join(cache, "mayfly")
	if err := os.MkdirAll(cache, 0o755); err != nil {
		return "", err
	}
	path = filepath.Join(cache, "testserver-"+key)
	if runtime.GOOS == "windows" {
		path += ".exe"
	}
	unlock, err := lock(filepath.Join(cache, "testserver.lock"))
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, unlock()) }()
	if _, err := os.Stat(path); err == nil {
		return path, nil
	}
	return path, build(dir, path)
}

// build builds the module at path completely or not at all: if it is killed, there is no
// program at path.
func build(dir, path string) error {
	partial := path + ".partial"
	cmd := exec.Command("go", "build", "-o", partial, ".") //nolint:noctx // go test's time-out ends it with the test binary
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOWORK=off")
	if out, err := cmd.CombinedOutput(); err != nil {
		lines := strings.Split(strings.TrimSpace(string(out)), "\n")
		return fmt.Errorf("build the test server: %w: %s", err, lines[len(lines)-1])
	}
	return os.Rename(partial, path)
}

// moduleDir returns the directory of testserver's source. It works for tests anywhere in the
// tree that contains it.
func moduleDir() (string, error) {
	at, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		dir := filepath.Join(at, "storage", "mongo", "testserver")
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir, nil
		}
		up := filepath.Dir(at)
		if up == at {
			return "", errors.New("the test server's source is not above the working directory")
		}
		at = up
	}
}

// contentOf returns a hash of everything that the build depends on.
func contentOf(dir string) (string, error) {
	h := sha256.New()
	h.Write(fmt.Appendln(nil, runtime.Version(), runtime.GOOS, runtime.GOARCH))
	entries, err := os.ReadDir(dir)
	if err != nil {
		return "", err
	}
	for _, e := range entries {
		if !e.Type().IsRegular() {
			continue
		}
		text, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			return "", err
		}
		h.Write(fmt.Appendf(nil, "%s %d\n%s", e.Name(), len(text), text))
	}
	return hex.EncodeToString(h.Sum(nil)[:8]), nil
}
