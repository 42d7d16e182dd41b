package mongo

import (
	"flag"
	"testing"

	"mayfly/engine/longtest"
)

// TestMain allows more parallel tests: they wait for servers that do not answer, and use no
// processor meanwhile. A -parallel flag overrides it.
func TestMain(m *testing.M) {
	if err := flag.Set("test.parallel", "32"); err != nil {
		panic(err)
	}
	longtest.Main(m)
}
