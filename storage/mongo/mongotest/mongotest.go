// Package mongotest gives tests a MongoDB: the program of storage/mongo/testserver,
// one process for all tests of a binary, or a real server.
//
//	MAYFLY_TEST_MONGO=mongodb://…   the real server to use
//	MAYFLY_MONGO_SERVER=path        testserver, built already; without it, it is built once and kept in the user's cache
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
)

const (
	realVar    = "MAYFLY_TEST_MONGO"
	builtVar   = "MAYFLY_MONGO_SERVER"
	requireVar = "MAYFLY_MONGO"

	// runningVar holds the URL of the server that this process uses, for test
	// binaries that start themselves again: the children share it.
	runningVar = "MAYFLY_MONGO_RUNNING"
)

// one is the server of this test binary. It is left running, and ends with the
// binary, whose end of a pipe closes then.
var one server //nolint:gochecknoglobals // what a test binary shares lives as long as it

type server struct {
	once  sync.Once
	url   string // without a database
	child bool   // it is that of the process which started this one
	err   error  // why there is none
	proc  *process
}

// URL is that of a database which nobody has used, and which is dropped when the
// test ends. Where there can be no server the test is skipped.
func URL(t testing.TB) string {
	t.Helper()
	return Named(t, "mayfly_"+strings.ToLower(rand.Text()))
}

// Named is the URL of the database of that name, for the processes of a test to
// meet in: those that are started after a call of Named, URL or Server. It is
// dropped when t ends in the first of them.
func Named(t testing.TB, name string) string {
	t.Helper()
	url := withDatabase(Server(t), name)
	if one.child {
		return url // a child: its parent may want to see what it left
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
		defer cancel()
		if err := drop(ctx, url, name); err != nil {
			t.Errorf("drop the test's database: %v", err)
		}
		if gone, why := one.proc.ended(); gone {
			t.Errorf("the test server has ended: %s", why)
		}
	})
	return url
}

// Server is the URL of the server, without a database.
func Server(t testing.TB) string {
	t.Helper()
	one.once.Do(one.find)
	if one.err == nil {
		return one.url
	}
	if os.Getenv(requireVar) == "require" {
		t.Fatalf("no MongoDB to test with, and %s=require: %v", requireVar, one.err)
	}
	t.Skipf("no MongoDB to test with: %s", strings.Join(strings.Fields(one.err.Error()), " "))
	return ""
}

// Real tells whether tests run against a server of somebody's own, which may be
// able to do what the test server is not.
func Real() bool { return os.Getenv(realVar) != "" }

func (s *server) find() {
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

// withDatabase puts a database's name into a connection string, in place of the
// one that may be there. That one goes on to say where users are looked up.
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
