package mongotest

import (
	"context"
	"crypto/rand"
	"os"
	"os/exec"
	"strings"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
)

func TestURLIsOfADatabaseOfItsOwn(t *testing.T) {
	a, b := URL(t), URL(t)
	if a == b {
		t.Fatalf("the same database twice: %s", a)
	}
	insert(t, a)
	insert(t, b) // a duplicate if the databases were the same
}

// Databases on a real server are dropped. The test server keeps its databases until it ends.
func TestDatabasesAreDropped(t *testing.T) {
	if ServerURL(t); !Real() {
		return
	}
	var url string
	t.Run("a test", func(t *testing.T) {
		url = URL(t)
		insert(t, url)
	})
	if n := count(t, url); n != 0 {
		t.Errorf("%d documents left behind", n)
	}
}

// TestChildrenShareTheServer runs itself in a child process, and checks that both processes use the
// same database.
func TestChildrenShareTheServer(t *testing.T) {
	const role = "MAYFLY_MONGOTEST_CHILD" // in the child, the name of the database
	if name := os.Getenv(role); name != "" {
		insert(t, NamedURL(t, name))
		return
	}
	name := "mayfly_children_" + strings.ToLower(rand.Text())
	url := NamedURL(t, name)
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestChildrenShareTheServer$")
	cmd.Env = append(os.Environ(), role+"="+name)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("child: %v\n%s", err, out)
	}
	if n := count(t, url); n != 1 {
		t.Errorf("there are %d documents of the child; want 1", n)
	}
}

func TestWithDatabase(t *testing.T) {
	for url, want := range map[string]string{
		"mongodb://h":                          "mongodb://h/d",
		"mongodb://h:1,i:2/":                   "mongodb://h:1,i:2/d",
		"mongodb://h/?replicaSet=r":            "mongodb://h/d?replicaSet=r",
		"mongodb://u:p@h/old":                  "mongodb://u:p@h/d?authSource=old",
		"mongodb://u:p@h/old?tls=true":         "mongodb://u:p@h/d?tls=true&authSource=old",
		"mongodb://u:p@h/old?authSource=admin": "mongodb://u:p@h/d?authSource=admin",
		"mongodb://u:p@h":                      "mongodb://u:p@h/d",
		"mongodb+srv://h/old":                  "mongodb+srv://h/d",
	} {
		if got := withDatabase(url, "d"); got != want {
			t.Errorf("%s: %s; want %s", url, got, want)
		}
	}
}

func TestTail(t *testing.T) {
	var s tail
	for range 3 {
		if _, err := s.Write([]byte(strings.Repeat("a", tailBytes-1) + "\n")); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := s.Write([]byte("end")); err != nil {
		t.Fatal(err)
	}
	if got := s.String(); len(got) != tailBytes || !strings.HasSuffix(got, "a\nend") {
		t.Errorf("%d bytes, ending in %q", len(got), got[len(got)-6:])
	}
}

func open(t *testing.T, url string) *mongo.Collection {
	t.Helper()
	c, err := mongo.Connect(options.Client().ApplyURI(url))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Disconnect(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return c.Database(url[strings.LastIndex(url, "/")+1:]).Collection("c")
}

func insert(t *testing.T, url string) {
	t.Helper()
	if _, err := open(t, url).InsertOne(t.Context(), bson.D{{Key: "_id", Value: "x"}}); err != nil {
		t.Fatal(err)
	}
}

func count(t *testing.T, url string) int64 {
	t.Helper()
	n, err := open(t, url).CountDocuments(t.Context(), bson.D{})
	if err != nil {
		t.Fatal(err)
	}
	return n
}
