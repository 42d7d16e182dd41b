package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"mayfly/cmd/mayfly/cli"
	"mayfly/cmd/mayfly/client"
	"mayfly/cmd/mayfly/command"
	"mayfly/cmd/mayfly/server"
	"mayfly/engine"
	"mayfly/storage"
	"mayfly/storage/archive"
	"mayfly/storage/mongo/mongotest"
	"mayfly/web/api"
)

// A vault is a folder for stores and backups, with helpers to run commands.
type vault struct {
	*testing.T
	dir string
}

func (s vault) at(name string) string    { return filepath.Join(s.dir, name) }
func (s vault) store(name string) string { return "sqlite:" + s.at(name) }

// does runs a command that has to succeed and to print one line that contains want.
func (s vault) does(want string, args ...string) {
	s.Helper()
	out, complaint, code := RunCommand(s.T, "", args...)
	if code != cli.ExitOK || !strings.Contains(out, want) || strings.Count(out, "\n") != 1 || complaint != "" {
		s.Errorf("%q: got %d %q %q, want %q", args, code, out, complaint, want)
	}
}

// fails runs a command that has to fail with one line on standard error that contains want.
func (s vault) fails(want string, args ...string) {
	s.Helper()
	out, complaint, code := RunCommand(s.T, "", args...)
	if code != cli.ExitFailed || !strings.Contains(complaint, want) || !strings.HasPrefix(complaint, "mayfly: ") || strings.Count(complaint, "\n") != 1 || out != "" {
		s.Errorf("%q: got %d %q %q, want %q", args, code, out, complaint, want)
	}
}

// fill starts a server that puts messages into a store, and leaves it running.
func (s vault) fill(url string) *Server {
	s.Helper()
	server := Start(s.T, server.Config{Store: url})
	for _, args := range [][]string{
		{"send", "orders", "hello", "--create", "--count", "3"}, {"send", "orders", "later", "--at", "1h"},
		{"send", "orders", strings.Repeat("large", 30_000)}, {"receive", "orders", "--then", "dead-letter"},
	} {
		if _, complaint, code := RunCommand(s.T, "", append(args, "--server", server.Dashboard)...); code != cli.ExitOK {
			s.Fatalf("%q: %s", args, complaint)
		}
	}
	return server
}

// TestBackupAndRestore backs up a store while the server runs, and checks, restores, serves
// and compacts the copy.
func TestBackupAndRestore(t *testing.T) {
	s := vault{t, t.TempDir()}
	before := s.fill(s.store("shop.db"))
	const what = ": 1 queue, 5 messages with 147 KiB of bodies"
	s.does("shop.db is sound"+what, "verify", "--store", s.store("shop.db"))
	s.does(" to "+s.at("shop.backup")+what, "backup", s.at("shop.backup"), "--store", s.store("shop.db"))
	s.does("shop.db is sound"+what, "verify", s.store("shop.db"))
	if _, complaint, code := RunCommand(t, "", "verify", s.store("shop.db"), "--store", s.store("other.db")); code != 2 || !strings.Contains(complaint, "or with --store, not both") {
		t.Errorf("two stores: %d %s", code, complaint)
	}
	s.does("shop.backup is whole and sound"+what, "verify", s.at("shop.backup"))
	if info, err := os.Stat(s.at("shop.backup")); err != nil || info.Mode().Perm()&0o077 != 0 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	s.fails("already exists; overwrite it with --force", "backup", s.at("shop.backup"), "--store", s.store("shop.db"))
	s.does("Wrote ", "backup", s.at("shop.backup"), "--force", "--store", s.store("shop.db"))
	s.fails("in use by this process", "restore", s.at("shop.backup"), "--store", s.store("shop.db"))
	s.fails("in use by this process", "compact", "--store", s.store("shop.db"))
	want := Entity(t, before, "orders").Counts
	if err := before.Stop(); err != nil {
		t.Fatal(err)
	}
	s.fails(`only be restored into an empty store, but this one has "orders"`, "restore", s.at("shop.backup"), "--store", s.store("shop.db"))
	s.does("into "+s.at("new.db")+what, "restore", s.at("shop.backup"), "--store", s.store("new.db"))
	s.does("new.db is sound"+what, "verify", "--store", s.store("new.db"))
	s.does("new.db now takes ", "compact", "--store", s.store("new.db"))
	after := Start(t, server.Config{Store: s.store("new.db")})
	if got := Entity(t, after, "orders").Counts; got != want || got != (api.Counts{Active: 3, Scheduled: 1, DeadLetter: 1}) {
		t.Errorf("got %+v of %+v", got, want)
	}
	s.does("Sent 1 message to orders: #6.", "send", "orders", "more", "--server", after.Dashboard)
	out, _, _ := RunCommand(t, "", "receive", "orders", "--limit", "5", "--server", after.Dashboard)
	if !strings.Contains(out, "hello") || !strings.Contains(out, "more") || !strings.Contains(out, "largelarge") {
		t.Errorf("received %.200q", out)
	}
	// Only the requested files remain.
	entries, err := os.ReadDir(s.dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), ".") {
			t.Errorf("the file %s remains", e.Name())
		}
	}
}

// TestBackupOfAnother checks that a namespace other than the server's own is found by its
// name and by its file.
func TestBackupOfAnother(t *testing.T) {
	s := vault{t, t.TempDir()}
	server := Start(t, server.Config{Store: s.store("all.db"), MaxNamespaces: 3})
	for _, args := range [][]string{
		{"send", "orders", "hello", "--create"}, {"namespaces", "create", "shop"},
		{"send", "carts", "hello", "--create", "--count", "2", "--namespace", "shop"}, {"send", "lists", "hello", "--create", "--namespace", "shop"},
	} {
		if _, complaint, code := RunCommand(t, "", append(args, "--server", server.Dashboard)...); code != cli.ExitOK {
			t.Fatalf("%q: %s", args, complaint)
		}
	}
	const own, shops = ": 1 queue, 1 message", ": 2 queues, 3 messages"
	inside := s.store("all.db.namespaces/shop/store.db")
	s.does(own, "backup", s.at("own"), "--store", s.store("all.db"))
	s.does(shops, "backup", s.at("named"), "--store", s.store("all.db"), "--namespace", "Shop")
	s.does(shops, "backup", s.at("found"), "--store", inside)
	s.does("of namespace default", "verify", s.at("own"))
	s.does("of namespace shop", "verify", s.at("named"))
	s.does("of namespace shop", "verify", s.at("found"))
	s.does("store.db is sound"+shops, "verify", "--store", s.store("all.db"), "--namespace", "shop")
	s.does("all.db is sound"+own, "verify", "--store", s.store("all.db"), "--namespace", "default")
	for _, args := range [][]string{{"verify"}, {"backup", s.at("none")}, {"compact"}, {"restore", s.at("own")}} {
		s.fails("the namespace shpo does not exist beside "+s.at("all.db")+"; choose from shop", append(args, "--store", s.store("all.db"), "--namespace", "shpo")...)
	}
	t.Setenv("MAYFLY_NAMESPACE", "prod") // the name of the server's own namespace
	s.does(own, "backup", s.at("prod"), "--store", s.store("all.db"))
	s.does(own, "backup", s.at("again"), "--store", s.store("all.db"), "--namespace", "prod")
	s.does("of namespace prod", "verify", s.at("prod"))
	s.fails("the namespace typo does not exist in or beside "+s.at("all.db")+"; choose from prod, shop", "verify", "--store", s.store("all.db"), "--namespace", "typo")
	t.Setenv("MAYFLY_NAMESPACE", "shop") // the server's own namespace; no other one may have that name
	s.does(own, "backup", s.at("same"), "--store", s.store("all.db"), "--namespace", "shop")
	t.Setenv("MAYFLY_NAMESPACE", "")
	s.fails("in use by this process", "restore", s.at("own"), "--store", s.store("all.db"), "--namespace", "shop")
	s.does("into "+s.at("new.db")+shops, "restore", s.at("named"), "--store", s.store("new.db"), "--namespace", "whatever")
}

func TestBackupByVariables(t *testing.T) {
	s := vault{t, t.TempDir()}
	if err := s.fill(s.store("shop.db")).Stop(); err != nil {
		t.Fatal(err)
	}
	t.Setenv("MAYFLY_STORE", s.store("shop.db"))
	t.Setenv("MAYFLY_NAMESPACE", "shop")
	s.does("shop.db is sound", "verify")
	var piped, said bytes.Buffer
	if code := cli.Execute(t.Context(), command.All(), []string{"backup", "-", "--no-history"}, nil, cli.Streams{In: strings.NewReader(""), Out: &piped, Err: &said}); code != cli.ExitOK ||
		!strings.HasPrefix(said.String(), "Wrote ") || strings.Contains(said.String(), "event") {
		t.Errorf("%d %q", code, &said)
	}
	out, complaint, code := RunCommand(t, piped.String(), "verify", "-")
	if code != cli.ExitOK || !strings.Contains(out, "standard input is whole and sound: 1 queue") || !strings.Contains(out, "of namespace shop, kept in sqlite, 20") {
		t.Errorf("%d %q %q", code, out, complaint)
	}
}

func TestBackupRefusals(t *testing.T) {
	s := vault{t, t.TempDir()}
	if err := s.fill(s.store("shop.db")).Stop(); err != nil {
		t.Fatal(err)
	}
	shop := []string{"--store", s.store("shop.db")}
	with := func(args ...string) []string { return append(args, shop...) }
	s.does("Wrote ", with("backup", s.at("good"))...)
	good, err := os.ReadFile(s.at("good"))
	if err != nil {
		t.Fatal(err)
	}
	flipped := bytes.Clone(good)
	flipped[len(flipped)/2] ^= 4
	for name, text := range map[string][]byte{
		"flipped": flipped, "torn": good[:len(good)-1], "longer": append(bytes.Clone(good), 0), "notes": []byte("not a backup"),
		"newer": bytes.Replace(good, []byte("backup 1"), []byte("backup 2"), 1), "none": nil,
	} {
		if err := os.WriteFile(s.at(name), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(s.at("good"), s.at("link")); err != nil {
		t.Logf("symbolic links cannot be created: %v", err)
	}
	for name, want := range map[string]string{
		"flipped": "the backup is damaged", "torn": "ends early, after", "longer": "there is data after the end", "notes": "the file is not a Mayfly backup",
		"newer": "was written by a newer Mayfly", "none": "not a Mayfly backup", "absent": "the backup cannot be read", ".": "", "shop.db": "not a Mayfly backup",
	} {
		s.fails(want, "verify", s.at(name))
		s.fails(want, "restore", s.at(name), "--store", s.store("untouched.db"))
	}
	s.fails("needs a file instead of -", "restore", "-", "--store", s.store("untouched.db"))
	s.fails("is lost when this command ends", "restore", s.at("good"), "--store", "memory:")
	s.fails("is no file", with("backup", s.dir, "--force")...)
	s.fails("already exists", with("backup", s.at("link"))...)
	s.fails("cannot be written", with("backup", s.at("no/such/folder"))...)
	s.fails("only be read by its server", "backup", s.at("new"), "--store", "memory:")
	s.fails("only be read by its server", "verify", "--store", "memory:")
	s.fails("nothing to compact in a memory store", "compact", "--store", "memory:")
	s.fails("nothing to compact in MongoDB", "compact", "--store", "mongodb://127.0.0.1:1")
	for _, command := range []string{"verify", "compact"} {
		s.fails("does not exist", command, "--store", s.store("untouched.db"))
		s.fails("not a Mayfly store", command, "--store", s.store("notes"))
	}
	s.fails(`unknown scheme "mongo"; `, "verify", "--store", "mongo://me:secret@host")
	s.fails("is not a valid namespace name", "verify", "--namespace", "a/b")
	if _, err := os.Stat(s.at("untouched.db")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a store was created: %v", err)
	}
	if _, err := os.Stat(s.at("new")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a backup was created: %v", err)
	}
	if text, err := os.ReadFile(s.at("good")); err != nil || !bytes.Equal(text, good) {
		t.Errorf("the backup was changed, %v", err)
	}
	if _, complaint, code := RunCommand(t, "", "backup"); code != cli.ExitUsage || !strings.Contains(complaint, `mayfly backup --help`) {
		t.Errorf("%d %q", code, complaint)
	}
}

// TestUnsound checks that verify reports what is missing in a damaged store or backup. A backup
// fails if a body cannot be read, and otherwise has everything that can be read; restoring a
// damaged backup fails and restores nothing.
func TestUnsound(t *testing.T) {
	s := vault{t, t.TempDir()}
	open := func(name string) engine.Store {
		store, err := storage.Open(t.Context(), s.store(name), storage.Options{})
		if err != nil {
			t.Fatal(err)
		}
		return store
	}
	store := open("bad.db")
	if err := errors.Join(store.Commit(t.Context(), &engine.Batch{Hard: true, Now: 5,
		Entities: []engine.Entity{{ID: 1, DeadLetterID: 2, TransferID: 3, Kind: engine.Queue, Path: "orders"}}, Meters: []engine.Meter{{Subqueue: 1, NextSeq: 9}},
		Contents: []engine.StoredContent{{Key: 5, Content: engine.Content{}.Pack()}, {Key: 6, Content: engine.Content{BodySize: 7}.Pack()}},
		Messages: []engine.Message{{Key: 5, Content: 5, Subqueue: 1, Seq: 1}, {Key: 6, Content: 6, Subqueue: 1, Seq: 2}, {Key: 7, Content: 99, Subqueue: 1, Seq: 3}},
	}), store.Close()); err != nil {
		t.Fatal(err)
	}
	out, complaint, code := RunCommand(t, "", "verify", "--store", s.store("bad.db"))
	if code != cli.ExitFailed || out != "The content of message #3 of \"orders\" is missing: content 99.\nBody 6 of 7 bytes is missing.\n" ||
		complaint != "mayfly: "+s.at("bad.db")+" is not sound: 2 things are wrong\n" {
		t.Errorf("%d %q %q", code, out, complaint)
	}
	s.fails("body 6 is missing from the store", "backup", s.at("bad"), "--store", s.store("bad.db"))

	store = open("torn.db")
	if err := errors.Join(store.Commit(t.Context(), &engine.Batch{Hard: true, Now: 5,
		Entities: []engine.Entity{{ID: 1, DeadLetterID: 2, TransferID: 3, Kind: engine.Queue, Path: "orders"}}, Meters: []engine.Meter{{Subqueue: 1, NextSeq: 9}},
		Messages: []engine.Message{{Key: 7, Content: 99, Subqueue: 1, Seq: 3}},
	}), store.Close()); err != nil {
		t.Fatal(err)
	}
	s.does("Wrote ", "backup", s.at("torn"), "--store", s.store("torn.db")) // the backup has everything that can be read
	out, complaint, code = RunCommand(t, "", "verify", s.at("torn"))
	if code != cli.ExitFailed || !strings.Contains(out, "content 99.") || !strings.Contains(complaint, "torn is not sound: 1 thing is wrong") {
		t.Errorf("%d %q %q", code, out, complaint)
	}
	out, complaint, code = RunCommand(t, "", "restore", s.at("torn"), "--store", s.store("new.db"))
	if code != cli.ExitFailed || out != "" || !strings.Contains(complaint, "nothing was restored") || !strings.Contains(complaint, "content 99.") {
		t.Errorf("%d %q %q", code, out, complaint)
	}
}

// TestUnsoundRows has a damaged row, which Mayfly finds and SQLite does not, and a row that
// was set aside; both are listed.
func TestUnsoundRows(t *testing.T) {
	s := vault{t, t.TempDir()}
	store, err := storage.Open(t.Context(), s.store("rows.db"), storage.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(store.Commit(t.Context(), &engine.Batch{Hard: true, Now: 5,
		Entities: []engine.Entity{{ID: 1, DeadLetterID: 2, TransferID: 3, Kind: engine.Queue, Path: "orders"}}, Meters: []engine.Meter{{Subqueue: 1, NextSeq: 9}},
		Settings: []engine.Setting{{Key: "views/one", Value: "the value of one"}},
		Contents: []engine.StoredContent{{Key: 5, Content: engine.Content{}.Pack()}},
		Messages: []engine.Message{{Key: 5, Content: 5, Subqueue: 1, Seq: 1}},
	}), store.Commit(t.Context(), &engine.Batch{Hard: true, Now: 6, SetAside: []engine.Key{5}, DropContents: []engine.DroppedContent{{Key: 5}}}), store.Close()); err != nil {
		t.Fatal(err)
	}
	file, err := os.ReadFile(s.at("rows.db"))
	if err != nil || !bytes.Contains(file, []byte("value of one")) {
		t.Fatalf("the setting is not in the file: %v", err)
	}
	if err := os.WriteFile(s.at("rows.db"), bytes.ReplaceAll(file, []byte("value of one"), []byte("value of two")), 0o600); err != nil {
		t.Fatal(err)
	}
	out, _, code := RunCommand(t, "", "verify", "--store", s.store("rows.db"))
	if code != cli.ExitFailed || strings.Contains(out, "SQLite says") ||
		!strings.Contains(out, "A row of the table setting is damaged: its checksum does not match.\n") || !strings.Contains(out, "was set aside, in the table aside of the file:\n  message 5\n") {
		t.Errorf("%d %q", code, out)
	}
}

// TestRestoreIsInterrupted checks that an incomplete restore is neither served nor backed up,
// and that it can be repeated.
func TestRestoreIsInterrupted(t *testing.T) {
	s := vault{t, t.TempDir()}
	if err := s.fill(s.store("shop.db")).Stop(); err != nil {
		t.Fatal(err)
	}
	s.does("Wrote ", "backup", s.at("good"), "--store", s.store("shop.db"))
	f, err := os.Open(s.at("good"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	c, err := archive.Check(t.Context(), f, nil)
	if err != nil {
		t.Fatal(err)
	}
	store, err := storage.Open(t.Context(), s.store("half.db"), storage.Options{})
	if err != nil {
		t.Fatal(err)
	}
	ctx, end := context.WithCancelCause(t.Context())
	if _, err := c.Restore(ctx, &interrupted{Store: store, after: 3, end: func() { end(cli.ErrStopped) }}); !errors.Is(err, cli.ErrStopped) {
		t.Fatal(err)
	}
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	out, complaint, code := RunCommand(t, "", "verify", "--store", s.store("half.db"))
	if code != cli.ExitFailed || !strings.Contains(out, "A restore into this store did not finish. Restore the backup again.\n") {
		t.Errorf("%d %q %q", code, out, complaint)
	}
	s.fails("a restore into this store did not finish; restore the backup again", "backup", s.at("copy"), "--store", s.store("half.db"))
	err = server.Run(t.Context(), server.Config{HTTP: "127.0.0.1:0", Admin: "127.0.0.1:0", AMQP: "127.0.0.1:0", Store: s.store("half.db")}, &bytes.Buffer{})
	if !errors.Is(err, engine.ErrRestoreIncomplete) {
		t.Errorf("an incomplete restore is served: %v", err)
	}
	out, complaint, code = RunCommand(t, "", "restore", s.at("good"), "--store", s.store("half.db"))
	if code != cli.ExitOK || !strings.Contains(out, "Restored ") || !strings.Contains(out, "The remains of an earlier, interrupted restore were removed.\n") {
		t.Errorf("%d %q %q", code, out, complaint)
	}
	s.does("half.db is sound: 1 queue, 5 messages", "verify", "--store", s.store("half.db"))
}

// An interrupted is a store that calls end after some commits.
type interrupted struct {
	engine.Store
	after int
	end   func()
}

func (i *interrupted) Commit(ctx context.Context, b *engine.Batch) error {
	if i.after--; i.after == 0 {
		i.end()
	}
	return i.Store.Commit(ctx, b)
}

func TestStoppedBackup(t *testing.T) {
	s := vault{t, t.TempDir()}
	if err := s.fill(s.store("shop.db")).Stop(); err != nil {
		t.Fatal(err)
	}
	s.does("Wrote ", "backup", s.at("good"), "--store", s.store("shop.db"))
	ctx, end := context.WithCancelCause(t.Context())
	end(cli.ErrStopped)
	for _, args := range [][]string{
		{"backup", s.at("new"), "--store", s.store("shop.db")}, {"restore", s.at("good"), "--store", s.store("new.db")},
		{"verify", "--store", s.store("shop.db")}, {"verify", s.at("good")}, {"compact", "--store", s.store("shop.db")},
	} {
		var out, complaint bytes.Buffer
		if code := cli.Execute(ctx, command.All(), args, nil, cli.Streams{In: strings.NewReader(""), Out: &out, Err: &complaint}); code != cli.ExitInterrupted || out.Len() > 0 {
			t.Errorf("%q: %d %q %q", args, code, &out, &complaint)
		}
	}
	for _, name := range []string{"new", "new.db"} {
		if _, err := os.Stat(s.at(name)); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s was created: %v", name, err)
		}
	}
}

// TestBackupOnMongoDB backs up a namespace while a server runs, and restores it into another
// namespace of the same database.
func TestBackupOnMongoDB(t *testing.T) {
	s := vault{t, t.TempDir()}
	url := mongotest.URL(t)
	before := s.fill(url)
	s.does("is sound: 1 queue, 5 messages", "verify", "--store", url)
	s.does("Wrote ", "backup", s.at("shop.backup"), "--store", url)
	s.fails("the namespace is owned by the server at "+before.Dashboard, "restore", s.at("shop.backup"), "--store", url)
	s.fails("the namespace other does not exist", "verify", "--store", url, "--namespace", "other")
	s.does("Restored ", "restore", s.at("shop.backup"), "--store", url, "--namespace", "other")
	s.does("is sound: 1 queue, 5 messages", "verify", "--store", url, "--namespace", "other")
	s.does("Restored ", "restore", s.at("shop.backup"), "--store", s.store("shop.db"))
	s.does("Wrote ", "backup", s.at("named.backup"), "--store", s.store("shop.db"), "--namespace", "named")
	s.does("Restored ", "restore", s.at("named.backup"), "--store", url) // restored under its own name
	s.does("is sound: 1 queue, 5 messages", "verify", "--store", url, "--namespace", "named")
	after := Start(t, server.Config{Store: url, Namespace: "other"})
	var got, want api.Messages
	for _, w := range []struct {
		at *Server
		to *api.Messages
	}{{before, &want}, {after, &got}} {
		if err := json.Unmarshal([]byte(Get(t, w.at.Dashboard+client.APIPath("peek", "orders")+"?from=1&limit=20")), w.to); err != nil {
			t.Fatal(err)
		}
	}
	if len(got.Messages) != 4 || len(want.Messages) != 4 || *got.Messages[0].Body != *want.Messages[0].Body {
		t.Errorf("got %+v of %+v", got, want)
	}
}

// TestBackupOfOneMadeAgain checks that a namespace that was deleted and created again is
// found by its name.
func TestBackupOfOneMadeAgain(t *testing.T) {
	s := vault{t, t.TempDir()}
	url := mongotest.URL(t)
	server := Start(t, server.Config{Store: url, MaxNamespaces: 3})
	for _, args := range [][]string{
		{"namespaces", "create", "shop"}, {"namespaces", "delete", "shop", "--yes"}, {"namespaces", "create", "shop"},
		{"send", "carts", "hello", "--create", "--count", "2", "--namespace", "shop"},
	} {
		if _, complaint, code := RunCommand(t, "", append(args, "--server", server.Dashboard)...); code != cli.ExitOK {
			t.Fatalf("%q: %s", args, complaint)
		}
	}
	s.does(": 1 queue, 2 messages", "backup", s.at("shop"), "--store", url, "--namespace", "shop")
	s.does("of namespace shop, kept in mongodb", "verify", s.at("shop"))

	// A restore replaces the new, empty namespace, and keeps the place where servers look for it.
	for _, args := range [][]string{{"namespaces", "delete", "shop", "--yes"}, {"namespaces", "create", "shop"}} {
		if _, complaint, code := RunCommand(t, "", append(args, "--server", server.Dashboard)...); code != cli.ExitOK {
			t.Fatalf("%q: %s", args, complaint)
		}
	}
	if err := server.Stop(); err != nil {
		t.Fatal(err)
	}
	s.does(": 1 queue, 2 messages", "restore", s.at("shop"), "--store", url)
	s.does(": 1 queue, 2 messages", "verify", "--store", url, "--namespace", "shop")
}

func TestSizes(t *testing.T) {
	for n, want := range map[int64]string{
		0: "0 bytes", 1: "1 byte", 1023: "1023 bytes", 1024: "1 KiB", 1536: "1.5 KiB", 999 << 10: "999 KiB", 1000 << 10: "0.977 MiB",
		12_345_678: "11.8 MiB", 3 << 30: "3 GiB", 5 << 40: "5 TiB", 5 << 50: "5.12e+03 TiB",
	} {
		if got := cli.FormatSize(n); got != want {
			t.Errorf("%d: %s, want %s", n, got, want)
		}
	}
}
