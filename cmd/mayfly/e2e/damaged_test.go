package e2e

import (
	"bytes"
	"encoding/json"
	"net/http"
	"os"
	"strings"
	"testing"

	"mayfly/cmd/mayfly/cli"
	"mayfly/cmd/mayfly/server"
	"mayfly/web/api"
)

// TestDamagedMessage changes one byte of a message in the file of a stopped server. The next
// server lists the message as damaged, delivers all others, and moves it aside; until then
// backups fail.
func TestDamagedMessage(t *testing.T) {
	s := vault{t, t.TempDir()}
	store := s.store("shop.db")
	before := Start(t, server.Config{Store: store})
	for _, m := range []struct{ queue, body, subject string }{
		{"orders", "first", "sound-one"}, {"orders", "second", "spoilt-one"}, {"orders", "third", "sound-two"}, {"invoices", "fourth", "sound-three"},
	} {
		if _, complaint, code := RunCommand(t, "", "send", m.queue, m.body, "--subject", m.subject, "--create", "--server", before.Dashboard); code != cli.ExitOK {
			t.Fatal(complaint)
		}
	}
	if err := before.Stop(); err != nil {
		t.Fatal(err)
	}
	s.does("shop.db is sound", "verify", "--store", store)
	file, err := os.ReadFile(s.at("shop.db"))
	if err != nil || !bytes.Contains(file, []byte("spoilt-one")) {
		t.Fatalf("the message is not in the file: %v", err)
	}
	if err := os.WriteFile(s.at("shop.db"), bytes.ReplaceAll(file, []byte("spoilt-one"), []byte("sp0ilt-one")), 0o600); err != nil {
		t.Fatal(err)
	}
	out, complaint, code := RunCommand(t, "", "verify", "--store", store)
	if code != cli.ExitFailed || !strings.Contains(out, `number 2 of "orders", is damaged: the checksum of its content`) || !strings.Contains(complaint, "is not sound") {
		t.Errorf("verify: %d %q %q", code, out, complaint)
	}

	after := Start(t, server.Config{Store: store})
	var list api.DamagedMessages
	if err := json.Unmarshal([]byte(Get(t, after.Dashboard+"/api/v1/damaged")), &list); err != nil {
		t.Fatal(err)
	}
	if len(list.Messages) != 1 || list.Messages[0].Path != "orders" || list.Messages[0].SequenceNumber != 2 || list.Messages[0].Damaged != "content" {
		t.Fatalf("damaged are %+v", list.Messages)
	}
	if page := Get(t, after.Dashboard+"/n/default/damaged"); !strings.Contains(page, list.Messages[0].Key) {
		t.Error("the page does not show the damaged message")
	}
	if page := Get(t, after.Dashboard+"/n/default/q/orders"); !strings.Contains(page, "1 message of this entity is damaged") {
		t.Error("the queue's page does not show the damaged message")
	}
	if n := Entity(t, after, "orders").Counts.Active; n != 2 {
		t.Errorf("the counts have %d messages", n)
	}
	whole := func(args ...string) {
		t.Helper()
		out, complaint, code := RunCommand(t, "", append(args, "--server", after.Dashboard)...)
		if code != cli.ExitOK || !strings.Contains(out, "first") || !strings.Contains(out, "third") || strings.Contains(out, "second") {
			t.Errorf("%q: %d %q %q", args, code, out, complaint)
		}
	}
	whole("peek", "orders")
	whole("receive", "orders", "--limit", "5")
	if code, text := Request(t, http.MethodPost, after.Admin+"/orders/messages/head?timeout=0", ""); code != http.StatusNoContent {
		t.Errorf("REST received %d %q", code, text)
	}
	s.fails("damaged", "backup", s.at("shop.backup"), "--store", store)
	if out, complaint, code := RunCommand(t, "", "damaged", "--set-aside", "--yes", "--server", after.Dashboard); code != cli.ExitOK || !strings.Contains(out, "its content is damaged") {
		t.Errorf("set aside: %d %q %q", code, out, complaint)
	}
	if text := Get(t, after.Dashboard+"/api/v1/damaged"); !strings.Contains(text, `"messages":[]`) {
		t.Errorf("still damaged: %s", text)
	}
	s.does("Wrote ", "backup", s.at("shop.backup"), "--store", store)
}
