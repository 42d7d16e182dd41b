package amqp

import (
	"sync/atomic"

	"mayfly/engine"
)

// memory is what messages that have come in part, or wait to be handed on, may
// take of the process together. It is safe for concurrent use.
type memory struct {
	most  atomic.Int64
	taken atomic.Int64
}

func (m *memory) take(n int64) bool {
	if m.taken.Add(n) <= m.most.Load() {
		return true
	}
	m.taken.Add(-n)
	return false
}

// keep counts n bytes that the connection keeps of its client, unless there is no
// room for them: no connection has more than half of it all, so that the others
// have some as well.
func (c *conn) keep(n int64) error {
	switch {
	case c.kept.Add(n) > c.s.memory.most.Load()/2:
	case c.s.memory.take(n):
		return nil
	}
	c.kept.Add(-n)
	return &engine.Refusal{Kind: engine.ErrBusy, Text: "There is no room for more messages that have come in part. Try again later."}
}

// unkeep takes back what keep counted.
func (c *conn) unkeep(n int64) {
	c.kept.Add(-n)
	c.s.memory.taken.Add(-n)
}

// unkeepAll is for the end of a connection.
func (c *conn) unkeepAll() { c.s.memory.taken.Add(-c.kept.Swap(0)) }
