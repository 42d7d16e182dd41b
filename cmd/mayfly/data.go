package main

import (
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

// tilde shortens a path for people.
func tilde(path string) string {
	if home := os.Getenv("HOME"); home != "" && strings.HasPrefix(path, home+string(filepath.Separator)) {
		return "~" + path[len(home):]
	}
	return path
}
