package route_test

import (
	"testing"

	"mayfly/engine/longtest"
)

func TestMain(m *testing.M) { longtest.Main(m) }
