package main

import (
	"os"
	"os/exec"
	"testing"
)

// needs is for tests that run lines as somebody with a shell would type them: they
// are skipped on a system that has no such programs, as Windows has no bash. With
// MAYFLY_SHELL=require, as .ci/run has it, they fail there instead.
func needs(t *testing.T, programs ...string) {
	t.Helper()
	for _, name := range programs {
		_, err := exec.LookPath(name)
		switch {
		case err == nil:
		case os.Getenv("MAYFLY_SHELL") == "require":
			t.Fatalf("MAYFLY_SHELL=require, but %v", err)
		default:
			t.Skipf("its lines are for %s, which this system does not have", name)
		}
	}
}
