package amqp

import (
	"cmp"

	"mayfly/engine"
	"mayfly/web/amqp/wire"
)

// limits bound what clients can have. They are those of the namespace.
type limits struct {
	connections int    // at a time
	sessions    int    // of a connection
	links       int    // of a connection
	unsettled   int    // deliveries of a link that its client has not settled
	frameSize   uint32 // bytes of a frame that a client may send
	memory      int64  // bytes for what came in part
}

const (
	mostSessions = 1 << 16  // there are no more channels
	mostFrame    = 16 << 20 // bytes: a frame is in memory as a whole
)

// limitsOf are those that l has, with the defaults for what is zero.
func limitsOf(l engine.Limits) limits {
	d := engine.DefaultLimits()
	return limits{
		connections: int(cmp.Or(l.Connections, d.Connections)),
		sessions:    int(min(cmp.Or(l.ConnectionSessions, d.ConnectionSessions), mostSessions)),
		links:       int(cmp.Or(l.ConnectionLinks, d.ConnectionLinks)),
		unsettled:   int(cmp.Or(l.LinkUnsettled, d.LinkUnsettled)),
		frameSize:   uint32(min(max(cmp.Or(l.FrameSize, d.FrameSize), wire.MinMaxFrameSize), mostFrame)),
		memory:      cmp.Or(l.IncompleteBytes, d.IncompleteBytes),
	}
}
