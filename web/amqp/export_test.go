package amqp

// Kept is how many bytes the server keeps of messages that have come in part.
func (s *Server) Kept() int64 { return s.memory.taken.Load() }
