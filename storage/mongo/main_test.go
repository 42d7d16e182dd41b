package mongo

import (
	"flag"
	"testing"

	"mayfly/engine/longtest"
)

// TestMain allows more parallel tests, because they wait for servers that do not answer,
// without using a processor. A -parallel flag takes precedence.
func TestMain(m *testing.M) {
	if err := flag.Set("test.parallel", "32"); err != nil {
		panic(err)
	}
	longtest.Main(m)
}
