//go:build unix && !linux && !darwin

package sqlite

import "os"

// lockFile does nothing: SQLite itself locks the whole file with flock here, and a POSIX lock
// ends when any descriptor of the file is closed. The lock file beside the store keeps other
// servers out, and a commit notices a server that opened the store by another name.
func lockFile(*os.File) error { return nil }
