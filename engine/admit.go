package engine

// An Admission is what would become of one message that is sent.
type Admission struct {
	Err        error // Send's
	Duplicate  bool  // it would be accepted, and dropped (DUP-2)
	Remembered bool  // its id would be remembered, so that the next with it is a duplicate
	Scheduled  bool  // it would wait for its time (SCH-2)
	Bytes      int64 // that to would have more (RT-3)
}

// Admit tells of each message what Send would say to it, sent alone and after those
// before it that would be accepted; taken is how many bytes the entity has by then of
// others that were asked about. Nothing changes, and bodies need not be there: what
// counts is how large they are. The error is Send's if to takes none at all now.
func (ns *Namespace) Admit(now Instant, to Path, all []Submission, taken int64) ([]Admission, error) {
	e, err := ns.sendsTo(to)
	if err != nil {
		return nil, err
	}
	out := make([]Admission, len(all))
	seen := map[Digest]bool{}
	for i, s := range all {
		a := &out[i]
		s.Staged, s.duplicate = false, false
		one := []Submission{s}
		if a.Err = ns.admitBatch(e, one); a.Err != nil {
			continue
		}
		if e.seen != nil && s.Digest.known() {
			if a.Duplicate = seen[s.Digest] || e.saw(now, s.Digest); a.Duplicate {
				continue
			}
			if a.Err = ns.admitIDs(now, e, len(seen)+1); a.Err != nil {
				continue
			}
		}
		a.Bytes = needs(e, one, now)
		if a.Err = ns.full(e, taken+a.Bytes); a.Err != nil {
			continue
		}
		taken += a.Bytes
		a.Scheduled = s.ScheduledFor > now
		if e.seen != nil && s.Digest.known() {
			a.Remembered, seen[s.Digest] = true, true
		}
	}
	return out, nil
}
