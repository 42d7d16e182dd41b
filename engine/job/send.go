package job

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"mayfly/engine"
	"mayfly/engine/broker"
	"mayfly/engine/draft"
)

// MostSends is how many bytes of JSON a draft has that a job sends: it stands in the
// job's record.
const MostSends = 64 << 10

// Sends is what a job sends.
type Sends struct {
	Draft draft.Draft `json:"draft"`
	Seed  draft.Seed  `json:"seed"`
}

// Send begins a job that sends a draft as often as it says; of p, To and Sends are
// read, and Once. What it sent can be taken
// back from a queue, as far as nobody has touched it. Errors are a draft's, and
// engine.ErrTooLarge for one of more than MostSends.
func (j *Jobs) Send(ctx context.Context, p Plan, actor string) (Job, error) {
	p = Plan{Kind: Send, To: p.To, Sends: p.Sends, Once: p.Once}.known()
	if is, ok := j.begun(p); ok {
		return is, nil
	}
	d, to := p.Sends.Draft, p.To
	m, err := d.Compile()
	if err == nil {
		err = m.Check(j.b.Clock(), p.Sends.Seed, j.b.Limits())
	}
	if err != nil {
		return Job{}, err //nolint:wrapcheck // it says what it is about
	}
	raw, err := json.Marshal(d)
	if err != nil {
		return Job{}, fmt.Errorf("write a draft: %w", err)
	}
	if len(raw) > MostSends {
		return Job{}, refuse(engine.ErrTooLarge, "A message that is sent in the background has at most %d KiB, with all that is written in it.", MostSends>>10)
	}
	if err := j.b.Read(ctx, func(r broker.Reader) error { _, err := r.Sendable(to); return err }); err != nil { //nolint:wrapcheck // likewise
		return Job{}, err //nolint:wrapcheck // it says what it is about
	}
	j.starting.Lock()
	defer j.starting.Unlock()
	return j.begin(ctx, Job{Plan: p, Actor: actor, Counts: Counts{Total: m.Count()}}, nil, nil)
}

// sendSlice sends the next messages of a draft.
func (j *Jobs) sendSlice(ctx context.Context, is Job) (Job, error) {
	s := is.Plan.Sends
	if s == nil {
		return is, refuse(engine.ErrNotAllowed, "Job %d does not know any more what it sends.", is.ID)
	}
	m, err := s.Draft.Compile()
	if err != nil {
		return is, err //nolint:wrapcheck // it says what it is about
	}
	var out []broker.Outgoing
	most := j.b.Limits().BatchSize / 2 // room for what else counts
	for size := int64(0); len(out) < sliceSize && is.Counts.Seen+int64(len(out)) < m.Count(); {
		c, body, err := m.Message(is.Counts.Seen+int64(len(out))+1, is.Started, s.Seed)
		if err != nil && len(out) > 0 {
			break // those before it are sent
		}
		if err != nil {
			return is, fmt.Errorf("message %d: %w", is.Counts.Seen+1, err)
		}
		if size += int64(len(body)) + 256; size > most && len(out) > 0 {
			break
		}
		out = append(out, broker.Outgoing{Content: c, Body: body})
	}
	next := is
	if len(out) == 0 {
		next.State, next.Plan.Sends = Done, nil
		return next, nil
	}
	base := next
	err = j.b.SendKeeping(context.WithoutCancel(ctx), is.Plan.To, out, is.hand(), func(seqs []engine.Seq, rows []engine.Row) []engine.Setting {
		next = base
		undo := next.tallySent(seqs, rows, int(j.b.Limits().SettingSize))
		settings := []engine.Setting{record(next)}
		for i, value := range undo {
			settings = append(settings, engine.Setting{Key: undoKey(is.ID, is.Undoing+i), Value: value})
		}
		return settings
	})
	if errors.Is(err, engine.ErrQuota) && !is.TooMany {
		is.TooMany = true // perhaps there is no room for what could be taken back: what was asked for comes first
		return j.sendSlice(ctx, is)
	}
	if err != nil {
		return is, err //nolint:wrapcheck // it says what it is about
	}
	return next, nil
}

// tallySent counts what was sent, and returns what may be taken back of it, as tally
// does.
func (j *Job) tallySent(seqs []engine.Seq, rows []engine.Row, most int) []string {
	var back Reversal
	for i, n := range seqs {
		j.Counts.Seen++
		if n == 0 { // DUP-2
			j.Counts.Skipped++
			continue
		}
		j.Counts.Done++
		if m := rows[i].Message; m.Key != 0 {
			back.Items = append(back.Items, reversed{Key: m.Key, Path: rows[i].Path, Seq: m.Seq, Do: engine.DeedDelete, State: m.State})
		}
	}
	return j.reverse(back, most)
}
