package broker

import "mayfly/engine"

// Memory holds how much of the memory limit is used, when memory runs low. The zero value
// means that there is enough.
type Memory struct {
	Used, Limit int64 // bytes
	Full        bool  // sends are refused; see engine.Memory
}

// Low reports whether memory runs low.
func (m Memory) Low() bool { return m != Memory{} }

// lowMemory returns the zero Memory as long as there is enough.
func (b *Broker) lowMemory() Memory {
	m, s := b.memory, b.share.Load()
	if full := b.memoryFull(); full || s != nil && s.Low() {
		return Memory{Used: m.Used(), Limit: m.Limit(), Full: full}
	}
	return Memory{}
}

// Memory returns the memory account that all namespaces of the process share.
func (b *Broker) Memory() *engine.Memory { return b.memory }

// memoryFull reports whether sends are refused because of memory.
func (b *Broker) memoryFull() bool {
	s := b.share.Load()
	return s != nil && s.Full()
}

// announceMemory logs and publishes, between turns, that memory has become full, so that sends are
// refused, or that it is available again. Each namespace reports its own state, since a namespace
// that uses less memory than others may still accept sends.
func (b *Broker) announceMemory() {
	full := b.memoryFull()
	if full == b.memoryFullAnnounced {
		return
	}
	b.memoryFullAnnounced = full
	if full {
		b.log.Warn("memory is full and sends are refused; receive or delete messages, or raise --limit memory", "kept_bytes", b.memory.Used(), "limit_bytes", b.memory.Limit())
		b.announce(engine.EventMemoryFull, "")
		return
	}
	b.log.Info("memory is available again and sends are accepted", "kept_bytes", b.memory.Used(), "limit_bytes", b.memory.Limit())
	b.announce(engine.EventMemoryFree, "")
}

// releaseNamespace drops the namespace and returns its memory to the process. Only the owner
// calls it, when it no longer needs the namespace.
func (b *Broker) releaseNamespace() {
	if b.ns != nil {
		b.ns.ReleaseMemory()
		b.ns = nil
	}
}
