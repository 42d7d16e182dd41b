package inspect_test

import (
	"context"
	"errors"
	"io"
	"iter"
	"slices"
	"strings"
	"testing"

	"mayfly/engine"
	"mayfly/engine/value"
	"mayfly/storage/archive"
	"mayfly/storage/inspect"
)

// source is a source with given contents.
type source struct {
	records []engine.Record
	bodies  map[engine.Key]string
	events  int
	err     error // returned after everything else
}

func (s source) Load(context.Context) iter.Seq2[engine.Record, error] {
	return func(yield func(engine.Record, error) bool) {
		for _, r := range s.records {
			if !yield(r, nil) {
				return
			}
		}
	}
}

func (s source) Body(_ context.Context, k engine.Key) (io.ReadSeekCloser, error) {
	b, ok := s.bodies[k]
	if !ok {
		return nil, engine.ErrMessageNotFound
	}
	return text{strings.NewReader(b), b == "bad"}, nil
}

type text struct {
	io.ReadSeeker
	bad bool
}

func (t text) Read(p []byte) (int, error) {
	if t.bad {
		return 0, errors.New("a bad sector")
	}
	return t.ReadSeeker.Read(p)
}

func (text) Close() error { return nil }

func (s source) QueryEvents(context.Context, engine.HistoryQuery) iter.Seq2[engine.HistoryEvent, error] {
	return func(yield func(engine.HistoryEvent, error) bool) {
		for range s.events {
			if !yield(engine.HistoryEvent{}, nil) {
				return
			}
		}
		if s.err != nil {
			yield(engine.HistoryEvent{}, s.err)
		}
	}
}

func content(k engine.Key, n int64) engine.StoredContent {
	return engine.StoredContent{Key: k, Content: engine.Content{MessageID: "m", BodySize: n}.Pack()}
}

// sound returns a namespace with every kind of record and no faults.
func sound() source {
	return source{
		records: []engine.Record{
			engine.Clock{Now: 1000},
			engine.Entity{ID: 1, DeadLetterID: 2, TransferID: 30, Kind: engine.Queue, Path: "Orders", Config: engine.Config{AuthorizationRules: []engine.AccessRule{{Name: "a", Rights: engine.SendRight}}}},
			engine.Entity{ID: 3, TransferID: 31, Kind: engine.Topic, Path: "prices"},
			engine.Entity{ID: 4, DeadLetterID: 5, TransferID: 32, Kind: engine.Subscription, Path: "prices/Subscriptions/eu"},
			engine.Rule{Subscription: 4, Name: "$Default"},
			engine.Meter{Subqueue: 1, NextSeq: 9, LastUsed: 5}, engine.Meter{Subqueue: 3, NextSeq: 2}, engine.Meter{Subqueue: 4, NextSeq: 2},
			content(10, 5), content(11, 0), content(12, 5), content(13, 7),
			engine.Message{Key: 10, Content: 10, Subqueue: 1, Seq: 1, ExpiresAt: 2000, LockedUntil: 1500, Nonce: 1},
			engine.Message{Key: 11, Content: 11, Subqueue: 2, Seq: 2, Extra: &engine.Extra{DeadLettered: true, Properties: value.Properties{{Name: "x"}}}},
			engine.Message{Key: 12, Content: 12, Subqueue: 4, Seq: 1, State: engine.Deferred},
			engine.Message{Key: 14, Content: 12, Subqueue: 3, Seq: 1, State: engine.Scheduled, ScheduledFor: 4000},
		},
		bodies: map[engine.Key]string{10: "hello", 12: "world"}, // no message refers to 13
		events: 3,
	}
}

func TestSound(t *testing.T) {
	all := sound()
	add(1, engine.Setting{Key: "view/late"})(&all)
	add(1, engine.Setting{Key: "view/Late", Value: "\xff"})(&all)
	r, err := inspect.Store(t.Context(), all)
	want := archive.Counts{Settings: 2, Queues: 1, Topics: 1, Subscriptions: 1, Rules: 1, Meters: 3, Contents: 4, Bodies: 3, BodyBytes: 17, Messages: 4, Events: 3}
	if err != nil || !r.Sound() || r.Counts != want {
		t.Errorf("%+v, %v", r, err)
	}
	if r, err := inspect.Store(t.Context(), source{}); err != nil || !r.Sound() {
		t.Errorf("nothing: %+v, %v", r, err)
	}
}

// TestWrong changes one thing in a namespace without faults, and requires the finding about it.
func TestWrong(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(*source)
		want   string
	}{
		"a setting without key": {add(1, engine.Setting{Value: "x"}), "A setting has no key"},
		"a setting twice": {func(s *source) {
			add(1, engine.Setting{Key: "view/late"})(s)
			add(1, engine.Setting{Key: "view/late"})(s)
		}, `The setting "view/late" exists twice`},
		"an entity of no kind":    {set(1, engine.Entity{ID: 1, DeadLetterID: 2, TransferID: 30, Kind: 7, Path: "Orders"}), `"Orders" has the unknown kind 7`},
		"a restore, half-way":     {set(1, engine.Entity{ID: 1, Kind: engine.RestoreMark, Path: "x"}), "A restore into this store did not finish"},
		"an entity without name":  {set(1, engine.Entity{ID: 1, DeadLetterID: 2, TransferID: 30, Kind: engine.Queue}), `Entity 1 has the invalid name ""`},
		"a queue of a topic":      {set(1, engine.Entity{ID: 1, DeadLetterID: 2, TransferID: 30, Kind: engine.Queue, Path: "prices/subscriptions/x"}), "is a queue, but has a name of another kind"},
		"a queue without letters": {set(1, engine.Entity{ID: 1, TransferID: 30, Kind: engine.Queue, Path: "Orders"}), "is a queue with dead-letter queue 0"},
		"no transfers":            {set(1, engine.Entity{ID: 1, DeadLetterID: 2, Kind: engine.Queue, Path: "Orders"}), `"Orders" has no transfer dead-letter queue`},
		"a name twice":            {add(2, engine.Entity{ID: 6, DeadLetterID: 7, TransferID: 8, Kind: engine.Queue, Path: "ORDERS"}), `"ORDERS" exists twice`},
		"an id twice":             {add(2, engine.Entity{ID: 6, DeadLetterID: 2, TransferID: 8, Kind: engine.Queue, Path: "x"}), "ID of another entity: 6, 2 or 8"},
		"its own dead letters":    {add(2, engine.Entity{ID: 6, DeadLetterID: 6, TransferID: 8, Kind: engine.Queue, Path: "x"}), "ID of another entity"},
		"no topic":                {func(s *source) { s.records = slices.Delete(s.records, 2, 3) }, "is stored before its topic"},
		"a rule of a queue":       {set(4, engine.Rule{Subscription: 1, Name: "r"}), `Rule "r" belongs to 1, which is not a subscription`},
		"a rule of no kind":       {set(4, engine.Rule{Subscription: 4, Name: "r", Filter: engine.Filter{Kind: 9}}), "has a filter of the unknown kind 9"},
		"a rule twice":            {add(5, engine.Rule{Subscription: 4, Name: "$DEFAULT"}), `Rule "$DEFAULT" of "prices/Subscriptions/eu" exists twice`},
		"a meter of nothing":      {set(5, engine.Meter{Subqueue: 99}), "A counter belongs to 99, which is not a queue"},
		"a meter twice":           {add(6, engine.Meter{Subqueue: 1, NextSeq: 9}), `The counter of "Orders" exists twice`},
		"a meter that lags":       {set(5, engine.Meter{Subqueue: 1, NextSeq: 2}), "#2 is not below the next number, 2"},
		"a content twice":         {add(9, content(10, 5)), "Content 10 exists twice"},
		"a torn content":          {set(8, engine.StoredContent{Key: 10, Content: "\x01\x05a"}), "Content 10 cannot be read: content field 1 is cut off"},
		"a negative body":         {set(8, content(10, -1)), "Content 10 has a body of -1 bytes"},
		"no content":              {func(s *source) { s.records = slices.Delete(s.records, 8, 9) }, `The content of message #1 of "Orders" is missing: content 10`},
		"a message of nowhere":    {set(12, engine.Message{Key: 10, Content: 10, Subqueue: 99, Seq: 1}), "Message 10 is in 99, which is not a queue"},
		"a message twice":         {add(13, engine.Message{Key: 10, Content: 10, Subqueue: 1, Seq: 3}), "Message 10 exists twice"},
		"a number twice":          {add(13, engine.Message{Key: 20, Content: 10, Subqueue: 1, Seq: 1}), `Number 1 of "Orders" exists twice`},
		"number zero":             {set(12, engine.Message{Key: 10, Content: 10, Subqueue: 1}), `Message 10 of "Orders" has the invalid number 0`},
		"no state":                {set(12, engine.Message{Key: 10, Content: 10, Subqueue: 1, Seq: 1, State: 3}), `Message #1 of "Orders" has the unknown state 3`},
		"dead and alive":          {set(13, engine.Message{Key: 11, Content: 11, Subqueue: 2, Seq: 2}), "#2 is dead-lettered: false"},
		"active at a topic":       {set(15, engine.Message{Key: 14, Content: 12, Subqueue: 3, Seq: 1}), "#1 is at a topic"},
		"no body":                 {func(s *source) { delete(s.bodies, 12) }, "Body 12 of 5 bytes is missing"},
		"a short body":            {func(s *source) { s.bodies[12] = "worl" }, "Body 12 has 4 bytes and should have 5"},
		"a long body":             {func(s *source) { s.bodies[12] = "world." }, "Body 12 has 6 bytes and should have 5"},
		"a bad sector":            {func(s *source) { s.bodies[12] = "bad" }, "Body 12 cannot be read completely: a bad sector"},
	} {
		s := sound()
		tc.change(&s)
		r, err := inspect.Store(t.Context(), s)
		if err != nil || r.Sound() || !strings.Contains(strings.Join(r.Findings, "\n"), tc.want) {
			t.Errorf("%s: %q, %v; want %q", name, r.Findings, err, tc.want)
		}
		for _, line := range r.Findings {
			if !strings.HasSuffix(line, ".") || strings.Contains(line, "\n") {
				t.Errorf("%s: %q is no sentence", name, line)
			}
		}
	}
}

// TestWrongAccess checks access rules of the namespace and of an entity. Findings must not
// contain keys.
func TestWrongAccess(t *testing.T) {
	one := func(name string, r engine.Rights) engine.AccessRule {
		return engine.AccessRule{Name: name, Rights: r, PrimaryKey: "hush", SecondaryKey: "hush"}
	}
	for name, tc := range map[string]struct {
		rules []engine.AccessRule
		want  string
	}{
		"sound":          {[]engine.AccessRule{one("b", engine.SendRight), one("a", engine.ManageRight|engine.ListenRight), {Name: "c", Rights: engine.ListenRight}}, ""},
		"no name":        {[]engine.AccessRule{one("", engine.SendRight)}, "an access rule without a name"},
		"twice":          {[]engine.AccessRule{one("a", engine.SendRight), one("A", engine.SendRight)}, `the access rule "A" twice`},
		"no rights":      {[]engine.AccessRule{one("a", 0)}, `the access rule "a" with the unknown rights 0`},
		"unknown rights": {[]engine.AccessRule{one("a", engine.SendRight|8)}, `the access rule "a" with the unknown rights 10`},
	} {
		for of, change := range map[string]func(*source){
			"The namespace": add(1, engine.Access{Rules: tc.rules}),
			`"Orders"`:      set(1, engine.Entity{ID: 1, DeadLetterID: 2, TransferID: 30, Kind: engine.Queue, Path: "Orders", Config: engine.Config{AuthorizationRules: tc.rules}}),
		} {
			s := sound()
			change(&s)
			r, err := inspect.Store(t.Context(), s)
			findings := strings.Join(r.Findings, "\n")
			if err != nil || r.Sound() != (tc.want == "") || strings.Contains(findings, "hush") || tc.want != "" && !strings.Contains(findings, of+" has "+tc.want) {
				t.Errorf("%s, %s: %q, %v", of, name, findings, err)
			}
		}
	}
}

func set(at int, r engine.Record) func(*source) { return func(s *source) { s.records[at] = r } }

func add(at int, r engine.Record) func(*source) {
	return func(s *source) { s.records = slices.Insert(s.records, at, r) }
}

// remembering returns a namespace with sessions and duplicate detection.
func remembering() source {
	return source{records: []engine.Record{
		engine.Clock{Now: 1000},
		engine.Entity{ID: 1, DeadLetterID: 2, TransferID: 3, Kind: engine.Queue, Path: "Orders",
			Config: engine.Config{RequiresSession: true, RequiresDuplicateDetection: true}},
		engine.Entity{ID: 4, TransferID: 5, Kind: engine.Topic, Path: "prices", Config: engine.Config{RequiresDuplicateDetection: true}},
		engine.Entity{ID: 6, DeadLetterID: 7, TransferID: 8, Kind: engine.Subscription, Path: "prices/Subscriptions/eu", Config: engine.Config{RequiresSession: true}},
		engine.SessionRecord{Subqueue: 1, ID: "a", State: "x", ChangedAt: 5}, engine.SessionRecord{Subqueue: 1, ID: "A"}, engine.SessionRecord{Subqueue: 6, ID: "a"},
		engine.SeenIDs{Subqueue: 1, N: 3, At: 5, Digests: make([]engine.Digest, 2)}, engine.SeenIDs{Subqueue: 1, N: 9, At: 4}, // after the window became longer
		engine.SeenIDs{Subqueue: 4, N: 1, At: 4},
		engine.Meter{Subqueue: 1, NextSeq: 2}, content(10, 0),
		engine.Message{Key: 10, Content: 10, Subqueue: 3, Seq: 1, Hops: 2, Extra: &engine.Extra{DeadLettered: true}},
	}}
}

// TestWrongMemory changes one thing in sessions or remembered MessageIds, and requires the finding
// about it.
func TestWrongMemory(t *testing.T) {
	r, err := inspect.Store(t.Context(), remembering())
	if want := (archive.Counts{Queues: 1, Topics: 1, Subscriptions: 1, Meters: 1, Sessions: 3, Seen: 2, Contents: 1, Messages: 1}); err != nil || !r.Sound() || r.Counts != want {
		t.Fatalf("%+v, %v", r, err)
	}
	queue := func(id, dead, transfer engine.SubqueueID) engine.Entity {
		return engine.Entity{ID: id, DeadLetterID: dead, TransferID: transfer, Kind: engine.Queue, Path: "x"}
	}
	for name, tc := range map[string]struct {
		change func(*source)
		want   string
	}{
		"a transfer place of another": {add(2, queue(9, 10, 3)), `"x" has an ID of another entity: 9, 10 or 3`},
		"another's transfer place":    {add(2, queue(3, 10, 11)), `"x" has an ID of another entity: 3, 10 or 11`},
		"dead letters of transfers":   {add(2, queue(9, 10, 10)), "has an ID of another entity"},
		"itself for transfers":        {add(2, queue(9, 10, 9)), "has an ID of another entity"},
		"a session of nothing":        {set(4, engine.SessionRecord{Subqueue: 99, ID: "a"}), `The state of session "a" belongs to 99, which is not a queue or subscription`},
		"a session of a topic":        {set(4, engine.SessionRecord{Subqueue: 4, ID: "a"}), "belongs to 4, which is not a queue or subscription"},
		"a session of dead letters":   {set(4, engine.SessionRecord{Subqueue: 2, ID: "a"}), "belongs to 2, which is not a queue or subscription"},
		"a session twice":             {set(5, engine.SessionRecord{Subqueue: 1, ID: "a"}), `The state of session "a" of "Orders" exists twice`},
		"seen by nothing":             {set(7, engine.SeenIDs{Subqueue: 99, N: 1}), "Recent MessageIds belong to 99, which is not a queue or topic"},
		"seen by a subscription":      {set(7, engine.SeenIDs{Subqueue: 6, N: 1}), "Recent MessageIds belong to 6, which is not a queue or topic"},
		"seen by dead letters":        {set(7, engine.SeenIDs{Subqueue: 2, N: 1}), "Recent MessageIds belong to 2"},
		"a number twice":              {set(8, engine.SeenIDs{Subqueue: 1, N: 3, At: 5}), `The recent MessageIds of "Orders" have number 3 after number 3`},
		"numbers that fall":           {set(8, engine.SeenIDs{Subqueue: 1, N: 2, At: 5}), "have number 2 after number 3"},
		"number zero":                 {set(9, engine.SeenIDs{Subqueue: 4, At: 4}), `The recent MessageIds of "prices" have number 0 after number 0`},
	} {
		s := remembering()
		tc.change(&s)
		r, err := inspect.Store(t.Context(), s)
		if err != nil || r.Sound() || !strings.Contains(strings.Join(r.Findings, "\n"), tc.want) {
			t.Errorf("%s: %q, %v; want %q", name, r.Findings, err, tc.want)
		}
		for _, line := range r.Findings {
			if !strings.HasSuffix(line, ".") || strings.Contains(line, "\n") {
				t.Errorf("%s: %q is no sentence", name, line)
			}
		}
	}
}

func TestManyWrongs(t *testing.T) {
	s := source{}
	for k := range engine.Key(80) {
		s.records = append(s.records, engine.Message{Key: k + 1, Subqueue: 1})
	}
	if r, err := inspect.Store(t.Context(), s); err != nil || len(r.Findings) != 50 || r.Omitted != 30 {
		t.Errorf("%d and %d, %v", len(r.Findings), r.Omitted, err)
	}
}

func TestReadingFails(t *testing.T) {
	s := sound()
	s.err = errors.New("a bad sector")
	delete(s.bodies, 12)
	if r, err := inspect.Store(t.Context(), s); !errors.Is(err, s.err) || len(r.Findings) != 1 || r.Messages != 4 {
		t.Errorf("%+v, %v", r, err)
	}
	ctx, end := context.WithCancelCause(t.Context())
	end(s.err)
	if _, err := inspect.Store(ctx, sound()); !errors.Is(err, s.err) {
		t.Errorf("%v", err)
	}
}
