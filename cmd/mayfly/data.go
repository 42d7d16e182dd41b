package main

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
)

// dataFolder is where a user's programs keep their data on this system: where
// XDG_DATA_HOME says, else where the platform has such things. Empty if the
// user has no home.
func dataFolder(system string, variable func(string) string) string {
	if dir := variable("XDG_DATA_HOME"); filepath.IsAbs(dir) { // a relative one is to be ignored, by its specification
		return dir
	}
	home := variable("HOME")
	switch {
	case system == "windows":
		return variable("LocalAppData")
	case home == "":
		return ""
	case system == "darwin" || system == "ios":
		return filepath.Join(home, "Library", "Application Support")
	default:
		return filepath.Join(home, ".local", "share")
	}
}

// defaultData is the file that messages are kept in unless --store says
// otherwise; empty if the user has no folder for it.
func defaultData() string {
	dir := dataFolder(runtime.GOOS, os.Getenv)
	if dir == "" {
		return ""
	}
	return filepath.Join(dir, "mayfly", "mayfly.db")
}

// defaultTLS is the folder that certificates are kept in unless --tls-dir says
// otherwise; empty if the user has none for it.
func defaultTLS() string {
	data := defaultData()
	if data == "" {
		return ""
	}
	return filepath.Join(filepath.Dir(data), "tls")
}

// tilde shortens a path for people.
func tilde(path string) string {
	if home := os.Getenv("HOME"); home != "" && strings.HasPrefix(path, home+string(filepath.Separator)) {
		return "~" + path[len(home):]
	}
	return path
}

// data says where messages are, for people.
func data(store string) string {
	if where := keptIn(store); where != "" {
		return where
	}
	return "in memory; it ends with the server"
}

// keptIn says where messages are kept; empty if they are not. It never shows a
// password.
func keptIn(store string) string {
	scheme, rest, _ := strings.Cut(store, ":")
	switch strings.ToLower(scheme) {
	case "memory":
		return ""
	case "mongodb", "mongodb+srv":
		return database(rest)
	}
	if full, err := filepath.Abs(rest); err == nil {
		return full
	}
	return rest
}

// storeBytes is what a store takes on this machine's disk; not ok: it is elsewhere,
// or in memory.
func storeBytes(store string) (n int64, ok bool) {
	if scheme, _, _ := strings.Cut(store, ":"); !strings.EqualFold(scheme, "sqlite") {
		return 0, false
	}
	for _, of := range []string{"", "-wal"} {
		if info, err := os.Stat(keptIn(store) + of); err == nil {
			n, ok = n+info.Size(), true
		}
	}
	return n, ok
}

// database is the hosts and the database of what follows the scheme of a
// MongoDB connection string. A net/url.URL would not take several hosts, and a
// password may be written in any way: all up to the last @ is left out.
func database(rest string) string {
	rest = rest[strings.LastIndex(rest, "@")+1:]
	rest, _, _ = strings.Cut(strings.TrimPrefix(rest, "//"), "?")
	hosts, name, _ := strings.Cut(rest, "/")
	return fmt.Sprintf("MongoDB at %s, database %s", hosts, cmp.Or(name, defaultDatabase))
}

// defaultDatabase is where a namespace is kept if the URL names none.
const defaultDatabase = "mayfly"
