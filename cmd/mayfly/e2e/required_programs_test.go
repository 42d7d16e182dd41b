package e2e

import (
	"os"
	"os/exec"
	"testing"
)

// RequirePrograms is for tests that run shell commands: they are skipped on a system without the programs,
// such as Windows without bash. With MAYFLY_SHELL=require, as in .ci/run, they fail instead.
func RequirePrograms(t *testing.T, programs ...string) {
	t.Helper()
	for _, name := range programs {
		_, err := exec.LookPath(name)
		switch {
		case err == nil:
		case os.Getenv("MAYFLY_SHELL") == "require":
			t.Fatalf("MAYFLY_SHELL=require, but %v", err)
		default:
			t.Skipf("the test runs %s, which this system does not have", name)
		}
	}
}
