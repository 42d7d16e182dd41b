package codec

import (
	"bytes"
	"encoding/hex"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"mayfly/engine"
	"mayfly/engine/value"
)

// format6 returns records of every kind with all the fields that existed in format 6 of SQLite
// stores, and a batch and an event that contain them.
func format6() ([]engine.Record, engine.Batch, engine.Event) {
	props := value.Properties{{Name: "a", Value: value.OfInt(-1)}, {Name: "ä", Value: value.OfString("\x00")}}
	rules := []engine.AccessRule{{Name: "ci", Rights: engine.SendRight, PrimaryKey: "one", SecondaryKey: "zwei", CreatedAt: 1, UpdatedAt: 2}}
	clock, access := engine.Clock{Now: 1784000000123}, engine.Access{Rules: rules}
	setting := engine.Setting{Key: "view/ä", Value: "\x00\xff", ChangedAt: 3}
	entity := engine.Entity{
		ID: 1<<40 | 1, DeadLetterID: 2, TransferID: 1<<63 | 3, Kind: engine.Subscription, Path: "t/Subscriptions/s", CreatedAt: 4, UpdatedAt: -5, UnpinnedIdle: 6,
		Config: engine.Config{
			LockDuration: 7, MaxSizeInMegabytes: 8, MaxMessageSizeInKilobytes: 9, DefaultMessageTimeToLive: time.Hour, AutoDeleteOnIdle: 10,
			DuplicateDetectionHistoryTimeWindow: 11, MaxDeliveryCount: 12, Status: engine.StatusSendDisabled,
			DeadLetteringOnMessageExpiration: true, IgnoreFilterExceptions: true, UnbatchedOperations: true, EnableExpress: true, SupportOrdering: true,
			RequiresDuplicateDetection: true, RequiresSession: true, ForwardTo: "to", ForwardDeadLetteredMessagesTo: "dead",
			ForwardToAddress: "sb://a/ä", ForwardDeadLetteredMessagesToAddress: "https://b/c", UserMetadata: "für Menschen", EnablePartitioning: true,
			AuthorizationRules: rules,
		},
	}
	rule := engine.Rule{Subscription: 13, Name: "r", Filter: engine.Filter{Kind: engine.SQLFilter, Text: "a = @a", Parameters: props}, Action: "SET b = 2", CreatedAt: 14}
	meter := engine.Meter{Subqueue: 15, NextSeq: 16, LastUsed: 17, AccessedAt: 18, Duplicates: 1 << 40}
	session := engine.SessionRecord{Subqueue: 19, ID: "A/ä", State: "\x00\xff", ChangedAt: 20}
	seen := engine.SeenIDs{Subqueue: 21, N: 1<<63 | 22, At: 23, Digests: []engine.Digest{{0: 1, 15: 2}, {}}}
	content := engine.StoredContent{Key: 24, Content: engine.Content{
		MessageID: "m", EmptySessionID: true, PartitionKey: "p", ViaPartitionKey: "v", CorrelationID: "c", Subject: "s", To: "t", ReplyTo: "r", ReplyToSessionID: "rs",
		ContentType: "text/plain", TTL: time.Minute, ScheduledFor: 25, Properties: props, BodyKind: engine.ValueBody, BodySize: 26, Preview: "hello", Wire: "\x01\x02",
	}.Pack()}
	message := engine.Message{
		Key: 1<<40 | 27, Content: 28, Subqueue: 29, Seq: 1<<50 | 30, EnqueuedSeq: 31, EnqueuedAt: 32, ExpiresAt: 33, ScheduledFor: 34, LockedUntil: 35,
		Nonce: 1<<63 | 36, DeliveryCount: 37, State: engine.Scheduled, Hops: 4,
		Extra: &engine.Extra{
			DeadLettered: true, Reason: "why", Description: "because", Source: "q", DeadAt: 38, DeferredAt: 39, By: "somebody", Properties: props,
			Rewritten: engine.Content{MessageID: "n"}.Pack(), NeverForwarded: true, To: "elsewhere",
		},
	}
	event := engine.Event{
		N: 40, Kind: engine.EventMoved, At: 41, Subqueue: 42, Path: "q", To: "r", Actor: "somebody", Reason: "why", Count: 1 << 40, Audit: true, Session: "A",
		Message: message, Content: content.Content, Entity: &entity, Rules: []engine.Rule{rule}, Subscriptions: []engine.Entity{entity},
	}
	batch := engine.Batch{
		Hard: true, Now: 43, Entities: []engine.Entity{entity}, Rules: []engine.Rule{rule}, Meters: []engine.Meter{meter}, Sessions: []engine.SessionRecord{session},
		Seen: []engine.SeenIDs{seen}, Messages: []engine.Message{message, {Key: 44, Content: 44}}, Contents: []engine.StoredContent{content},
		Bodies: []engine.Body{{Key: 45, Bytes: []byte("body")}}, Access: &access, Settings: []engine.Setting{setting},
		DropSubqueues: []engine.SubqueueID{46, 47}, DropRules: []engine.RuleID{{Subscription: 48, Name: "r"}}, DropSessions: []engine.SessionID{{Subqueue: 49, ID: "s"}},
		DropSeen: []engine.SeenIDsThrough{{Subqueue: 50, N: 51}}, DropSettings: []string{"view/ä", ""}, DropMessages: []engine.Key{52, 53},
		DropContents: []engine.DroppedContent{{Key: 54, HasBody: true}}, Audit: []engine.Event{event},
	}
	return []engine.Record{clock, access, setting, entity, rule, meter, session, seen, content, message}, batch, event
}

// encoded returns one line of hexadecimal digits for each record, the batch and the event.
func encoded() string {
	records, batch, event := format6()
	var all strings.Builder
	for _, r := range records {
		all.WriteString(hex.EncodeToString(Append(nil, r)) + "\n")
	}
	all.WriteString(hex.EncodeToString(AppendBatch(nil, &batch)) + "\n")
	all.WriteString(hex.EncodeToString(AppendEvent(nil, &event)) + "\n")
	return all.String()
}

// TestFormat6 checks that records, as the last version with format 6 of SQLite stores wrote them,
// are read with all their fields. MongoDB and backups contain such records too.
func TestFormat6(t *testing.T) {
	file, err := os.ReadFile("testdata/format-6.txt")
	if err != nil {
		t.Fatal(err)
	}
	var lines [][]byte
	for line := range bytes.Lines(file) {
		b, err := hex.DecodeString(string(bytes.TrimSpace(line)))
		if err != nil {
			t.Fatal(err)
		}
		lines = append(lines, b)
	}
	records, batch, event := format6()
	if len(lines) != len(records)+2 {
		t.Fatalf("%d lines", len(lines))
	}
	for i, want := range records {
		got, err := Parse(lines[i])
		if err != nil {
			t.Fatal(err)
		}
		differ(t, "record", want, got)
	}
	gotBatch, err := ParseBatch(lines[len(records)])
	if err != nil {
		t.Fatal(err)
	}
	differ(t, "batch", &batch, gotBatch)
	gotEvent, err := ParseEvent(lines[len(records)+1])
	if err != nil {
		t.Fatal(err)
	}
	differ(t, "event", event, gotEvent)
	if encoded() != string(file) {
		t.Error("the same values are encoded differently now")
	}
}

// TestFormat6IsComplete checks that TestFormat6 covers every field that existed in format 6.
func TestFormat6IsComplete(t *testing.T) {
	newer := []string{"Config.UnorderedTopic", "Batch.SetAside", "Batch.Added", "Batch.Written"} // Written is never encoded
	var check func(v reflect.Value)
	check = func(v reflect.Value) {
		switch v.Kind() {
		case reflect.Struct:
			for f, field := range v.Fields() {
				name := v.Type().Name() + "." + f.Name
				if !f.IsExported() || slices.Contains(newer, name) {
					continue
				}
				if field.IsZero() {
					t.Errorf("%s is zero", name)
				}
				check(field)
			}
		case reflect.Pointer:
			check(v.Elem())
		case reflect.Slice:
			if v.Len() > 0 {
				check(v.Index(0))
			}
		default:
		}
	}
	records, batch, event := format6()
	check(reflect.ValueOf(batch))
	check(reflect.ValueOf(event))
	for _, r := range records {
		check(reflect.ValueOf(r))
	}
}
