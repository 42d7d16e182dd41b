package engine

// SettleAll is Settle for several deliveries, all or none: of the first that cannot
// be settled it returns why, and nothing has changed. One that is named twice is
// such a one, for it is settled by then (LOCK-7).
func (ns *Namespace) SettleAll(now Instant, all []Settlement) error {
	return ns.together(all, func(s Settlement) error { return ns.Settle(now, s) })
}

// SettleAllIn is SettleIn for several deliveries, all or none.
func (ns *Namespace) SettleAllIn(now Instant, id TxID, all []Settlement) error {
	return ns.together(all, func(s Settlement) error { return ns.SettleIn(now, id, s) })
}

// together takes back what was done if one of all cannot be.
func (ns *Namespace) together(all []Settlement, do func(Settlement) error) error {
	before := ns.mark()
	for _, s := range all {
		if err := do(s); err != nil {
			ns.undoTo(before)
			return err
		}
	}
	return nil
}
