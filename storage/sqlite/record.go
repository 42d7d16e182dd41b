package sqlite

import (
	"fmt"
	"strings"
	"time"

	"github.com/ncruces/go-sqlite3"

	"mayfly/engine"
	"mayfly/engine/value"
)

// This file converts records to rows and back. A field's zero value is NULL if zero means
// never, unset or a default.

const (
	putRule  = "INSERT OR REPLACE INTO rule (subscription, folded, name, filter_kind, filter, action, created_at, parameters, sum) VALUES (?,?,?,?,?,?,?,?,?)"
	getRules = "SELECT subscription, folded, name, filter_kind, filter, action, created_at, parameters, sum FROM rule"

	putMeter  = "INSERT OR REPLACE INTO meter (holder, next_seq, last_used, accessed_at, duplicates, sum) VALUES (?,?,?,?,?,?)"
	getMeters = "SELECT holder, next_seq, last_used, accessed_at, duplicates, sum FROM meter"

	putSession  = "INSERT OR REPLACE INTO session (holder, id, state, changed_at, sum) VALUES (?,?,?,?,?)"
	getSessions = "SELECT holder, id, state, changed_at, sum FROM session"

	putSetting  = "INSERT OR REPLACE INTO setting (key, value, changed_at, sum) VALUES (?,?,?,?)"
	getSettings = "SELECT key, value, changed_at, sum FROM setting"

	plainColumns = "key, holder, seq, state, content, enqueued_seq, enqueued_at, expires_at, scheduled_for, locked_until, nonce, delivery_count, hops"
	extraColumns = "dead_lettered, dead_letter_reason, dead_letter_description, dead_letter_source, dead_at, deferred_at, done_by, properties, rewritten, stays, transfer_to"

	extraCount = 11

	putPlain    = "INSERT OR REPLACE INTO message (" + plainColumns + ", sum) VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?)"
	putExtra    = "INSERT OR REPLACE INTO message (" + plainColumns + ", " + extraColumns + ", sum) VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)"
	getMessages = "SELECT " + plainColumns + ", " + extraColumns + ", sum FROM message"

	putContent  = "INSERT OR REPLACE INTO content (key, packed, sum) VALUES (?,?,?)"
	getContents = "SELECT key, packed, sum FROM content"
)

// flags are stored in one number: the first as 1, the second as 2, the third as 4, and so on.
// So a flag can be added to a column without changing the meaning of existing files.
type flags []*bool

// A columnField is a column of the table entity, and a pointer to its value in an Entity, of one
// of the types that row.field supports.
type columnField struct {
	column string
	at     any
}

func entityFields(e *engine.Entity) []columnField {
	c := &e.Config
	return []columnField{
		{"id", &e.ID},
		{"dead_letter_id", &e.DeadLetterID},
		{"kind", &e.Kind},
		{"path", &e.Path},
		{"created_at", &e.CreatedAt},
		{"updated_at", &e.UpdatedAt},
		{"unpinned", &e.UnpinnedIdle},
		{"lock_duration", &c.LockDuration},
		{"max_size_in_megabytes", &c.MaxSizeInMegabytes},
		{"max_message_size_in_kilobytes", &c.MaxMessageSizeInKilobytes},
		{"default_message_time_to_live", &c.DefaultMessageTimeToLive},
		{"auto_delete_on_idle", &c.AutoDeleteOnIdle},
		{"duplicate_detection_window", &c.DuplicateDetectionHistoryTimeWindow},
		{"max_delivery_count", &c.MaxDeliveryCount},
		{"status", &c.Status},
		{"dead_lettering_on_expiration", &c.DeadLetteringOnMessageExpiration},
		{"ignore_filter_exceptions", &c.IgnoreFilterExceptions},
		{"unbatched_operations", &c.UnbatchedOperations},
		{"enable_express", &c.EnableExpress},
		{"support_ordering", flags{&c.SupportOrdering, &c.UnorderedTopic}},
		{"requires_duplicate_detection", &c.RequiresDuplicateDetection},
		{"requires_session", &c.RequiresSession},
		{"forward_to", &c.ForwardTo},
		{"forward_dead_lettered_to", &c.ForwardDeadLetteredMessagesTo},
		{"user_metadata", &c.UserMetadata},
		{"transfer_id", &e.TransferID},
		{"authorization_rules", &c.AuthorizationRules},
		{"forward_to_address", &c.ForwardToAddress},
		{"forward_dead_lettered_to_address", &c.ForwardDeadLetteredMessagesToAddress},
		{"enable_partitioning", &c.EnablePartitioning},
	}
}

func entityColumns() (columns, marks string) {
	var names []string
	for _, f := range entityFields(&engine.Entity{}) {
		names = append(names, f.column)
	}
	return strings.Join(names, ", "), strings.TrimSuffix(strings.Repeat("?,", len(names)), ",")
}

func putEntity() string {
	columns, marks := entityColumns()
	return "INSERT OR REPLACE INTO entity (" + columns + ", sum) VALUES (" + marks + ",?)"
}

func getEntities() string {
	columns, _ := entityColumns()
	return "SELECT " + columns + ", sum FROM entity ORDER BY id < 0, id" // ids are unsigned
}

// A row binds the parameters of a statement, or reads the columns of its result, from left to
// right. It keeps the first error.
type row struct {
	st  *sqlite3.Stmt
	n   int
	err error
	sum *checksum // of the values that were bound or read; nil if the row has no sum
}

// into returns a row that binds the parameters of st, from the first one on.
func into(st *sqlite3.Stmt) row { return row{st: st} }

// into returns a row that binds the parameters of st, which writes a row of table. run adds the
// row's sum.
func (w *writer) into(st *sqlite3.Stmt, table string) row {
	w.sum.begin(table)
	return row{st: st, sum: &w.sum}
}

// run executes the statement with the values that were bound.
func (r *row) run() error {
	if s := r.sum; s != nil {
		r.sum = nil
		r.putInt(s.sum())
	}
	if r.err != nil {
		return r.err
	}
	return r.st.Exec()
}

func (r *row) putInt(v int64) {
	r.n++
	if err := r.st.BindInt64(r.n, v); err != nil && r.err == nil {
		r.err = err
	}
	if r.sum != nil {
		r.sum.int(v)
	}
}

// putNonZero binds v, or NULL if v is zero.
func (r *row) putNonZero(v int64) {
	if v != 0 {
		r.putInt(v)
		return
	}
	r.putNull()
}

func (r *row) putNull() {
	r.n++
	if err := r.st.BindNull(r.n); err != nil && r.err == nil {
		r.err = err
	}
	if r.sum != nil {
		r.sum.zeros(1)
	}
}

// putText binds v, or NULL if v is empty.
func (r *row) putText(v string) {
	if v == "" {
		r.putNull()
		return
	}
	r.putName(v)
}

func (r *row) putBytes(v []byte) {
	r.n++
	if err := r.st.BindBlob(r.n, v); err != nil && r.err == nil {
		r.err = err
	}
	if r.sum != nil {
		r.sum.bytes(v)
	}
}

func (r *row) int() int64 {
	r.n++
	v := r.st.ColumnInt64(r.n - 1) // NULL reads as zero
	if r.sum != nil {
		r.sum.int(v)
	}
	return v
}

func (r *row) text() string {
	r.n++
	v := r.st.ColumnText(r.n - 1)
	if r.sum != nil {
		r.sum.text(v)
	}
	return v
}

// bytes reads a blob. It is valid until the statement's next step.
func (r *row) bytes() []byte {
	r.n++
	v := r.st.ColumnRawBlob(r.n - 1)
	if r.sum != nil {
		r.sum.bytes(v)
	}
	return v
}

func (r *row) putField(at any) {
	switch v := at.(type) {
	case *engine.SubqueueID:
		r.putNonZero(int64(*v))
	case *engine.EntityKind:
		r.putInt(int64(*v))
	case *engine.Instant:
		r.putNonZero(int64(*v))
	case *engine.Status:
		r.putNonZero(int64(*v))
	case *time.Duration:
		r.putNonZero(int64(*v))
	case *int64:
		r.putNonZero(*v)
	case *int32:
		r.putNonZero(int64(*v))
	case *bool:
		r.putNonZero(flag(*v))
	case flags:
		var n int64
		for i, on := range v {
			n |= flag(*on) << i
		}
		r.putNonZero(n)
	case *string:
		r.putText(*v)
	case *[]engine.AccessRule:
		r.putAccess(*v)
	case *engine.Path:
		r.putName(string(*v))
	default:
		panic(fmt.Sprintf("a field of type %T", at))
	}
}

func (r *row) field(at any) {
	switch v := at.(type) {
	case *engine.SubqueueID:
		*v = engine.SubqueueID(r.int())
	case *engine.EntityKind:
		*v = engine.EntityKind(r.int())
	case *engine.Instant:
		*v = engine.Instant(r.int())
	case *engine.Status:
		*v = engine.Status(r.int())
	case *time.Duration:
		*v = time.Duration(r.int())
	case *int64:
		*v = r.int()
	case *int32:
		*v = int32(r.int())
	case *bool:
		*v = r.int() != 0
	case flags:
		n := r.int()
		for i, on := range v {
			*on = n&(1<<i) != 0
		}
	case *string:
		*v = r.text()
	case *[]engine.AccessRule:
		*v = r.access()
	case *engine.Path:
		*v = engine.Path(r.text())
	default:
		panic(fmt.Sprintf("a field of type %T", at))
	}
}

func flag(on bool) int64 {
	if on {
		return 1
	}
	return 0
}

func (r *row) putEntity(e engine.Entity) {
	for _, f := range entityFields(&e) {
		r.putField(f.at)
	}
}

func (r *row) entity() (e engine.Entity) {
	for _, f := range entityFields(&e) {
		r.field(f.at)
	}
	return e
}

func (r *row) putRule(v engine.Rule) {
	r.putInt(int64(v.Subscription))
	r.putName(strings.ToLower(v.Name))
	r.putName(v.Name)
	r.putInt(int64(v.Filter.Kind))
	r.putText(v.Filter.Text)
	r.putText(v.Action)
	r.putNonZero(int64(v.CreatedAt))
	r.putProperties(v.Filter.Parameters)
}

// putProperties binds the encoded properties, or NULL if there are none.
func (r *row) putProperties(p value.Properties) {
	if len(p) == 0 {
		r.putNull()
		return
	}
	r.putBytes(p.Append(nil))
}

func (r *row) properties() (value.Properties, error) {
	b := r.bytes()
	if len(b) == 0 {
		return nil, nil
	}
	p, rest, err := value.ParseProperties(b)
	if err == nil && len(rest) > 0 {
		err = fmt.Errorf("%w: %d bytes follow the properties", value.ErrCorrupt, len(rest))
	}
	return p, err
}

// putName binds text that is part of an identity, and so never NULL.
func (r *row) putName(v string) {
	r.n++
	if err := r.st.BindText(r.n, v); err != nil && r.err == nil {
		r.err = err
	}
	if r.sum != nil {
		r.sum.text(v)
	}
}

func (r *row) rule() (v engine.Rule, err error) {
	v = engine.Rule{
		Subscription: engine.SubqueueID(r.int()),
		Name:         r.foldedName(),
		Filter:       engine.Filter{Kind: engine.FilterKind(r.int()), Text: r.text()},
		Action:       r.text(),
		CreatedAt:    engine.Instant(r.int()),
	}
	if v.Filter.Parameters, err = r.properties(); err != nil {
		return v, fmt.Errorf("rule %q of %d: %w", v.Name, v.Subscription, err)
	}
	return v, nil
}

// foldedName reads a name that is stored in two columns, folded and unchanged. It returns the
// unchanged one.
func (r *row) foldedName() string {
	r.text()
	return r.text()
}

func (r *row) putMeter(v engine.Meter) {
	r.putInt(int64(v.Subqueue))
	r.putInt(int64(v.NextSeq))
	r.putNonZero(int64(v.LastUsed))
	r.putNonZero(int64(v.AccessedAt))
	r.putNonZero(int64(v.Duplicates))
}

func (r *row) meter() engine.Meter {
	return engine.Meter{
		Subqueue:   engine.SubqueueID(r.int()),
		NextSeq:    engine.Seq(r.int()),
		LastUsed:   engine.Instant(r.int()),
		AccessedAt: engine.Instant(r.int()),
		Duplicates: uint64(r.int()),
	}
}

func (r *row) session() engine.SessionRecord {
	return engine.SessionRecord{
		Subqueue:  engine.SubqueueID(r.int()),
		ID:        r.text(),
		State:     string(r.bytes()),
		ChangedAt: engine.Instant(r.int()),
	}
}

func (r *row) setting() engine.Setting {
	return engine.Setting{Key: r.text(), Value: string(r.bytes()), ChangedAt: engine.Instant(r.int())}
}

func (r *row) putPlain(m *engine.Message) {
	r.putInt(int64(m.Key))
	r.putInt(int64(m.Subqueue))
	r.putInt(int64(m.Seq))
	r.putInt(int64(m.State))
	r.putInt(int64(m.Content))
	r.putInt(int64(m.EnqueuedSeq))
	r.putNonZero(int64(m.EnqueuedAt))
	r.putNonZero(int64(m.ExpiresAt))
	r.putNonZero(int64(m.ScheduledFor))
	r.putNonZero(int64(m.LockedUntil))
	r.putInt(int64(m.Nonce))
	r.putInt(int64(m.DeliveryCount))
	r.putNonZero(int64(m.Hops))
	if r.sum != nil && m.Extra == nil {
		r.sum.zeros(1 + extraCount)
	}
}

func (r *row) putExtra(x *engine.Extra) {
	if r.sum != nil {
		r.sum.int(1) // dead_lettered IS NOT NULL
	}
	r.putInt(flag(x.DeadLettered))
	r.putText(x.Reason)
	r.putText(x.Description)
	r.putText(x.Source)
	r.putNonZero(int64(x.DeadAt))
	r.putNonZero(int64(x.DeferredAt))
	r.putText(x.By)
	r.putProperties(x.Properties)
	if x.Rewritten == "" {
		r.putNull()
	} else {
		r.putBytes([]byte(x.Rewritten))
	}
	r.putNonZero(flag(x.NeverForwarded))
	r.putText(x.To)
}

func (r *row) message() (engine.Message, error) {
	m := engine.Message{
		Key:           engine.Key(r.int()),
		Subqueue:      engine.SubqueueID(r.int()),
		Seq:           engine.Seq(r.int()),
		State:         engine.State(r.int()),
		Content:       engine.Key(r.int()),
		EnqueuedSeq:   engine.Seq(r.int()),
		EnqueuedAt:    engine.Instant(r.int()),
		ExpiresAt:     engine.Instant(r.int()),
		ScheduledFor:  engine.Instant(r.int()),
		LockedUntil:   engine.Instant(r.int()),
		Nonce:         uint64(r.int()),
		DeliveryCount: uint32(r.int()),
		Hops:          uint8(r.int()),
	}
	if r.st.ColumnType(r.n) == sqlite3.NULL {
		r.sum.zeros(1 + extraCount)
		r.n += extraCount
		return m, nil
	}
	r.sum.int(1)
	x, err := r.extra()
	if err != nil {
		return m, fmt.Errorf("message %d: %w", m.Key, err)
	}
	m.Extra = x
	return m, nil
}

func (r *row) extra() (x *engine.Extra, err error) {
	x = &engine.Extra{
		DeadLettered: r.int() != 0,
		Reason:       r.text(),
		Description:  r.text(),
		Source:       r.text(),
		DeadAt:       engine.Instant(r.int()),
		DeferredAt:   engine.Instant(r.int()),
		By:           r.text(),
	}
	if x.Properties, err = r.properties(); err != nil {
		return nil, err
	}
	x.Rewritten = engine.Packed(r.bytes())
	x.NeverForwarded = r.int() != 0
	x.To = r.text()
	return x, nil
}
