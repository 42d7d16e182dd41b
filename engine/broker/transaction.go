package broker

import (
	"context"

	"mayfly/engine"
)

// A Transaction gathers sends and settlements that are done together or not at all (§5.4). It is
// kept only in memory: it ends with the broker, when the store is reopened, two minutes after its
// first operation, and when it has had no operation for too long. Later operations fail with
// engine.ErrTransaction. Its methods are safe for concurrent use; operations are done in the order
// in which they were answered.
type Transaction struct {
	b        *Broker
	id       engine.TxID
	confined bool
}

// BeginTransaction begins a transaction. owner is shown to operators, and is the actor of the
// messages that the transaction sends. The caller ends it with Commit or Rollback.
func (b *Broker) BeginTransaction(ctx context.Context, owner string) (*Transaction, error) {
	id, err := do(ctx, b, 0, func(ns *engine.Namespace, now engine.Instant) (engine.TxID, error) {
		return ns.BeginTransaction(now, owner)
	})
	if err != nil {
		return nil, err
	}
	return &Transaction{b: b, id: id}, nil
}

// ID returns the transaction's id.
func (t *Transaction) ID() engine.TxID { return t.id }

// Confined returns the same transaction for operations that must use the same entity and partition
// as all others; see [engine.Namespace.Confine].
func (t *Transaction) Confined() *Transaction { return &Transaction{t.b, t.id, true} }

// Send adds messages to the transaction, all or none. They are checked now and sent by Commit.
func (t *Transaction) Send(ctx context.Context, to engine.Path, out []Outgoing) error {
	_, err := t.b.sendWith(ctx, to, out, func(ns *engine.Namespace, now engine.Instant, batch []engine.Submission) ([]engine.Seq, error) {
		if err := ns.Confine(now, t.id, t.confined); err != nil {
			ns.DiscardStaged(batch)
			return nil, err
		}
		return nil, ns.SendInTx(now, t.id, to, batch)
	})
	return err
}

// SendVia is Send to one entity via another (FWD-14).
func (t *Transaction) SendVia(ctx context.Context, via, to engine.Path, out []Outgoing) error {
	_, err := t.b.sendWith(ctx, to, out, func(ns *engine.Namespace, now engine.Instant, batch []engine.Submission) ([]engine.Seq, error) {
		if err := ns.Confine(now, t.id, t.confined); err != nil {
			ns.DiscardStaged(batch)
			return nil, err
		}
		return nil, ns.SendViaInTx(now, t.id, via, to, batch)
	})
	return err
}

// Settle adds settlements to the transaction and returns the error of each, nil if it was added.
// Until Commit the messages stay locked.
func (t *Transaction) Settle(ctx context.Context, all ...engine.Settlement) ([]error, error) {
	return do(ctx, t.b, 0, func(ns *engine.Namespace, now engine.Instant) ([]error, error) {
		if err := ns.Confine(now, t.id, t.confined); err != nil {
			return nil, err
		}
		errs := make([]error, len(all))
		for i, s := range all {
			errs[i] = ns.SettleInTx(now, t.id, s)
		}
		return errs, nil
	})
}

// SettleAll is Settle for several deliveries, all or none.
func (t *Transaction) SettleAll(ctx context.Context, all []engine.Settlement) error {
	return t.enlist(ctx, func(ns *engine.Namespace, now engine.Instant) error { return ns.SettleAllInTx(now, t.id, all) })
}

// CancelScheduled makes Commit cancel scheduled messages, all or none (TX-1, SCH-7).
func (t *Transaction) CancelScheduled(ctx context.Context, p engine.Path, seqs []engine.Seq) error {
	return t.enlist(ctx, func(ns *engine.Namespace, now engine.Instant) error {
		return ns.CancelScheduledInTx(now, t.id, p, seqs)
	})
}

// enlist runs `do`, which adds an operation to the transaction, in a turn. If t is confined, the
// transaction is confined first; see Confined.
func (t *Transaction) enlist(ctx context.Context, do func(*engine.Namespace, engine.Instant) error) error {
	return exec(ctx, t.b, func(ns *engine.Namespace, now engine.Instant) error {
		if err := ns.Confine(now, t.id, t.confined); err != nil {
			return err
		}
		return do(ns, now)
	})
}

// Receive always fails, because a transaction cannot receive (TX-1).
func (t *Transaction) Receive(ctx context.Context, in ReceiveRequest) ([]Received, error) {
	in.transaction = t.id
	return t.b.Receive(ctx, in)
}

// Commit does all operations and returns the sequence numbers of the messages sent, in order, once
// that is durable. If an operation fails, nothing is done and the transaction ends: the error is
// engine.ErrRolledBack and that of the operation. While the store accepts no writes, nothing is
// done either, but the transaction continues: the error is engine.ErrBusy. If the store did not
// answer, the error is engine.ErrBusy too, but the outcome is unknown and the transaction ends:
// later operations fail with engine.ErrTransaction.
//
// The SQL rules of topics are evaluated outside the owner's turn, as for a Send.
func (t *Transaction) Commit(ctx context.Context) ([]engine.Seq, error) {
	var ask []engine.UnplannedMessage
	seqs, err := do(ctx, t.b, 0, func(ns *engine.Namespace, now engine.Instant) ([]engine.Seq, error) {
		if ask = ns.UnplannedMessages(t.id); len(ask) > 0 {
			return nil, nil
		}
		return ns.Discharge(now, t.id, engine.Commit)
	})
	if err != nil || len(ask) == 0 {
		return seqs, err
	}
	plans := make([]*engine.Plan, 0, len(ask))
	for _, u := range ask {
		plans = append(plans, u.Plan())
	}
	return do(ctx, t.b, 0, func(ns *engine.Namespace, now engine.Instant) ([]engine.Seq, error) {
		return ns.CommitPlanned(now, t.id, plans)
	})
}

// Rollback ends the transaction and discards its operations.
func (t *Transaction) Rollback(ctx context.Context) error {
	return exec(ctx, t.b, func(ns *engine.Namespace, now engine.Instant) error {
		_, err := ns.Discharge(now, t.id, engine.Rollback)
		return err
	})
}
