package job

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"mayfly/engine"
	"mayfly/engine/broker"
	"mayfly/engine/template"
)

// MaxDraftBytes is the maximum size in bytes of the JSON of a draft that a job sends, since the
// draft is part of the job's record.
const MaxDraftBytes = 64 << 10

// SendSpec is the draft that a job sends.
type SendSpec struct {
	Draft template.Draft `json:"draft"`
	Seed  template.Seed  `json:"seed"`
}

// Send begins a job that sends as many messages as a draft asks for. It uses To, SendSpec and
// IdempotencyKey of p. The job can be undone for messages that it sent to a queue and that are
// unchanged. The errors are those of drafts, and engine.ErrTooLarge for a draft of more than
// MaxDraftBytes.
func (j *Jobs) Send(ctx context.Context, p Plan, actor string) (Job, error) {
	p = Plan{Kind: Send, To: p.To, SendSpec: p.SendSpec, IdempotencyKey: p.IdempotencyKey}.identified()
	if is, ok := j.findStarted(p); ok {
		return is, nil
	}
	d, to := p.SendSpec.Draft, p.To
	m, err := d.Compile()
	if err == nil {
		err = m.Check(j.b.ClockTime(), p.SendSpec.Seed, j.b.Limits())
	}
	if err != nil {
		return Job{}, err
	}
	raw, err := json.Marshal(d)
	if err != nil {
		return Job{}, fmt.Errorf("write a template: %w", err)
	}
	if len(raw) > MaxDraftBytes {
		return Job{}, engine.Refuse(engine.ErrTooLarge, "A message that is sent in the background must not be larger than %d KiB, including its properties.", MaxDraftBytes>>10)
	}
	if err := j.b.Read(ctx, func(r broker.Reader) error { _, err := r.MaxMessageSize(to); return err }); err != nil {
		return Job{}, err
	}
	j.starting.Lock()
	defer j.starting.Unlock()
	return j.enqueue(ctx, Job{Plan: p, Actor: actor, Counts: Counts{Total: m.Count()}}, nil, nil)
}

// sendSlice sends the next messages of a draft.
func (j *Jobs) sendSlice(ctx context.Context, is Job, size int) (Job, error) {
	s := is.Plan.SendSpec
	if s == nil {
		return is, engine.Refuse(engine.ErrNotAllowed, "The message of job %d is no longer stored, so the job cannot continue.", is.ID)
	}
	m, err := s.Draft.Compile()
	if err != nil {
		return is, err
	}
	var out []broker.Outgoing
	most := j.b.Limits().BatchSize / 2 // leaves room for overhead
	for bytes := int64(0); len(out) < size && is.Counts.Seen+int64(len(out)) < m.Count(); {
		c, body, err := m.Message(is.Counts.Seen+int64(len(out))+1, is.Started, s.Seed)
		if err != nil && len(out) > 0 {
			break // send the messages before it
		}
		if err != nil {
			return is, fmt.Errorf("message %d: %w", is.Counts.Seen+1, err)
		}
		if bytes += int64(len(body)) + 256; bytes > most && len(out) > 0 {
			break
		}
		out = append(out, broker.Outgoing{Content: c, Body: body})
	}
	next := is
	if len(out) == 0 {
		next.State, next.Plan.SendSpec = Done, nil
		return next, nil
	}
	base := next
	err = j.b.SendWithSettings(context.WithoutCancel(ctx), is.Plan.To, out, is.operationActor(), func(seqs []engine.Seq, rows []engine.Row) []engine.Setting {
		next = base
		undo := next.countSent(seqs, rows, int(j.b.Limits().SettingSize))
		settings := []engine.Setting{jobSetting(next)}
		for i, value := range undo {
			settings = append(settings, engine.Setting{Key: undoKey(is.ID, is.UndoRecords+i), Value: value})
		}
		return settings
	})
	if errors.Is(err, engine.ErrQuota) && !is.TooManyToUndo {
		is.TooManyToUndo = true // perhaps there is no room for the undo record: send without one
		return j.sendSlice(ctx, is, size)
	}
	if err != nil {
		return is, err
	}
	return next, nil
}

// countSent counts sent messages, and returns undo records as countResults does.
func (j *Job) countSent(seqs []engine.Seq, rows []engine.Row, most int) []string {
	var back UndoRecord
	for i, n := range seqs {
		j.Counts.Seen++
		if n == 0 { // DUP-2
			j.Counts.Skipped++
			continue
		}
		j.Counts.Done++
		if m := rows[i].Message; m.Key != 0 {
			back.Items = append(back.Items, undoOperation{Key: m.Key, Path: rows[i].Path, Seq: m.Seq, Kind: engine.OperationDelete, State: m.State})
		}
	}
	return j.addUndo(back, most)
}
