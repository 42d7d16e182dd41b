// Package mongotest provides a MongoDB for tests: the program of storage/mongo/testserver,
// one process for all tests of a binary, or a real server.
//
//	MAYFLY_TEST_MONGO=mongodb://…   the real server to use
//	MAYFLY_LONG=1                   use testserver; without either variable tests are skipped
//	MAYFLY_MONGO_SERVER=path        testserver, built already; without it, it is downloaded and built once, and kept in the user's cache
//	MAYFLY_MONGO=require            no server is a failure instead of a skip
package mongotest

import (
	"context"
	"crypto/rand"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"mayfly/engine/longtest"
)

const (
	realVar    = "MAYFLY_TEST_MONGO"
	builtVar   = "MAYFLY_MONGO_SERVER"
	requireVar = "MAYFLY_MONGO"

	// runningVar holds the URL of the server that this process uses, for test binaries that
	// start themselves: the children share it.
	runningVar = "MAYFLY_MONGO_RUNNING"
)

// one is the server of this test binary. It runs until the binary ends, which closes a pipe to
// it.
var one server //nolint:gochecknoglobals // shared by the tests of a binary

type server struct {
	once  sync.Once
	url   string // without a database
	child bool   // whether it is the server of the parent process
	err   error  // why there is no server
	proc  *process
}

// URL returns the URL of an unused database, which is dropped on a real server when the test
// ends. It skips the test if there can be no server.
func URL(t testing.TB) string {
	t.Helper()
	return NamedURL(t, "mayfly_"+strings.ToLower(rand.Text()))
}

// NamedURL returns the URL of the database of that name, for sharing it between the processes of
// a test: those that are started after a call of NamedURL, URL or ServerURL. On a real server it is
// dropped when t ends in the first process.
func NamedURL(t testing.TB, name string) string {
	t.Helper()
	url := withDatabase(ServerURL(t), name)
	if one.child {
		return url // in a child: the parent may want to inspect the database
	}
	t.Cleanup(func() {
		if !Real() {
			// The files are deleted with the server. FerretDB would remove the file of a
			// database even while it is being read. If a late write then created it again, both
			// would share one index in memory, and the server would die of a bus error.
			if gone, why := one.proc.ended(); gone {
				t.Errorf("the test server has ended: %s", why)
			}
			return
		}
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
		defer cancel()
		if err := drop(ctx, url, name); err != nil {
			t.Errorf("drop the test's database: %v", err)
		}
	})
	return url
}

// ServerURL returns the URL of the server, without a database.
func ServerURL(t testing.TB) string {
	t.Helper()
	if !Real() && os.Getenv(runningVar) == "" {
		longtest.Require(t, "tests against a MongoDB")
	}
	one.once.Do(one.start)
	if one.err == nil {
		return one.url
	}
	if os.Getenv(requireVar) == "require" {
		t.Fatalf("no MongoDB to test with, and %s=require: %v", requireVar, one.err)
	}
	t.Skipf("no MongoDB to test with: %s", strings.Join(strings.Fields(one.err.Error()), " "))
	return ""
}

// Real reports whether tests run against an external server, which may support more than the
// test server.
func Real() bool { return os.Getenv(realVar) != "" }

func (s *server) start() {
	if s.url = os.Getenv(runningVar); s.url != "" {
		s.child = true
		return
	}
	if s.url = os.Getenv(realVar); s.url == "" {
		program, err := program()
		if err != nil {
			s.err = err
			return
		}
		if s.proc, s.url, s.err = start(program); s.err != nil {
			return
		}
	}
	s.err = os.Setenv(runningVar, s.url)
}

// withDatabase replaces the database in a connection string. The former database remains the
// one in which users are looked up.
func withDatabase(url, name string) string {
	scheme, rest, _ := strings.Cut(url, "://")
	rest, query, _ := strings.Cut(rest, "?")
	hosts, old, _ := strings.Cut(rest, "/")
	if old != "" && strings.Contains(hosts, "@") && !strings.Contains(strings.ToLower(query), "authsource=") {
		query = strings.TrimPrefix(query+"&authSource="+old, "&")
	}
	if query != "" {
		query = "?" + query
	}
	return scheme + "://" + hosts + "/" + name + query
}

func drop(ctx context.Context, url, name string) (err error) {
	c, err := mongo.Connect(options.Client().ApplyURI(url))
	if err != nil {
		return err
	}
	defer func() {
		if e := c.Disconnect(ctx); err == nil {
			err = e
		}
	}()
	return c.Database(name).Drop(ctx)
}
