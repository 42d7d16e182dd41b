//go:build unix

package server

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// TestUsersAtOnce checks that no change is lost when several commands write the file.
func TestUsersAtOnce(t *testing.T) {
	file := filepath.Join(t.TempDir(), "users.txt")
	var all sync.WaitGroup
	for i := range 20 {
		all.Go(func() {
			if _, err := rewriteUsers(file, fmt.Sprint("user", i), func(string) string { return fmt.Sprintf("user%d:viewer:x", i) }); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(string(text), "\n"); n != 20 {
		t.Errorf("the file has %d of 20 users", n)
	}
}
