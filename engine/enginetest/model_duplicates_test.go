package enginetest

import "maps"

// This file models §13 and §5.4: duplicate detection and transactions.

// window returns an entity's duplicate detection window, which is ten minutes by default
// (DUP-3).
func window(e *entity) int64 {
	if e.cfg.window == 0 {
		return 600_000
	}
	return e.cfg.window
}

// outlived removes the MessageIds of e whose window has passed (DUP-4).
func (w *model) outlived(e *entity) {
	maps.DeleteFunc(e.seen, func(_ string, at int64) bool { return w.now >= at+window(e) })
}

func (w *model) saw(e *entity, tag string) bool {
	at, ok := e.seen[tag]
	return ok && w.now < at+window(e)
}

func (w *model) see(e *entity, tag string) {
	if e.cfg.detects && e.kind != 's' {
		e.seen[tag] = w.now
	}
}

// doubles reports for each message of a batch whether it is a duplicate (DUP-10).
func (w *model) doubles(e *entity, batch []submission) []bool {
	double := make([]bool, len(batch))
	for i, s := range batch {
		double[i] = w.saw(e, s.tag)
		for _, before := range batch[:i] {
			double[i] = double[i] || e.cfg.detects && before.tag == s.tag
		}
	}
	return double
}

// dropDouble models DUP-2, and SCH-12 for a message that was to be scheduled.
func (w *model) dropDouble(e *entity, scheduled bool) (seq int64) {
	e.dropped++
	if scheduled {
		seq = e.next
		e.next++
	}
	return seq
}

type transaction struct {
	id, ends   int64
	operations []operation
}

// An operation is part of a transaction: a send if it has a batch, or else a settlement.
type operation struct {
	path  string
	batch []submission

	token, outcome, reason, text string
	props                        map[string]string
}

func (o operation) do(w *model) ([]int64, string) {
	if o.batch != nil {
		return w.send(o.path, o.batch)
	}
	return nil, w.settle(o.token, o.path, o.outcome, o.reason, o.text, o.props)
}

// declare begins a transaction. If it gets no operation, it ends after five times the time limit
// of transactions.
func (w *model) declare(id int64) {
	w.transactions = append(w.transactions, transaction{id: id, ends: w.now + 5*w.limits.transactionTime})
}

// overdue rolls back transactions that have timed out (TX-2).
func (w *model) overdue() {
	var open []transaction
	for _, t := range w.transactions {
		if w.now < t.ends {
			open = append(open, t)
		}
	}
	w.transactions = open
}

func (w *model) transaction(id int64) *transaction {
	w.overdue()
	for i := range w.transactions {
		if w.transactions[i].id == id {
			return &w.transactions[i]
		}
	}
	return nil
}

// give adds an operation to a transaction, if the operation could be done now.
func (w *model) give(id int64, o operation) string {
	t := w.transaction(id)
	if t == nil {
		return "transaction"
	}
	messages, settled := len(o.batch), 0
	for _, other := range t.operations {
		messages += len(other.batch)
		if other.batch == nil {
			settled++
		}
	}
	if o.batch != nil && messages > w.limits.transactionMessages { // TX-3
		return "quota"
	}
	if _, err := o.do(w.clone()); err != "" {
		return err
	}
	for _, other := range t.operations {
		if o.batch == nil && other.batch == nil && other.token == o.token {
			return "lock lost"
		}
	}
	if o.batch == nil && settled == w.limits.transactionMessages {
		return "quota"
	}
	if o.batch != nil {
		e, _ := w.find(o.path)
		w.use(e)
	} else if m, err := w.owned(o.token, o.path); err == "" {
		w.use(m.in)
	}
	if len(t.operations) == 0 {
		t.ends = w.now + w.limits.transactionTime
	}
	t.operations = append(t.operations, o)
	return ""
}

// discharge does all operations or none, and ends the transaction.
func (w *model) discharge(id int64, commit bool) (seqs []int64, err string) {
	found := w.transaction(id)
	if found == nil {
		return nil, "transaction"
	}
	t := *found
	var open []transaction
	for _, o := range w.transactions {
		if o.id != id {
			open = append(open, o)
		}
	}
	w.transactions = open
	if !commit {
		return nil, ""
	}
	trial := w.clone()
	for _, o := range t.operations {
		if _, err := o.do(trial); err != "" {
			return nil, err
		}
	}
	for _, o := range t.operations {
		got, _ := o.do(w)
		seqs = append(seqs, got...)
	}
	return seqs, ""
}
