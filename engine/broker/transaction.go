package broker

import (
	"context"

	"mayfly/engine"
)

// A Transaction gathers sends and settlements that are done together or not at
// all (§5.4). Nobody but the broker knows of it: it ends with the broker, and
// when the store is opened again, and two minutes after its first operation, or
// when it was without one for too long. What is asked of it then is
// engine.ErrTransaction. Its methods are safe for concurrent use; operations are
// done in the order in which they were answered.
type Transaction struct {
	b  *Broker
	id engine.TxID
}

// Declare begins a transaction; owner is for people, and the actor of what it
// sends. Whoever declared it ends it, with Commit or Rollback.
func (b *Broker) Declare(ctx context.Context, owner string) (*Transaction, error) {
	id, err := do(ctx, b, 0, func(ns *engine.Namespace, now engine.Instant) (engine.TxID, error) { return ns.Declare(now, owner) })
	if err != nil {
		return nil, err
	}
	return &Transaction{b: b, id: id}, nil
}

// ID names the transaction.
func (t *Transaction) ID() engine.TxID { return t.id }

// Send gives messages to the transaction, all or none. They are checked now and
// sent by Commit.
func (t *Transaction) Send(ctx context.Context, to engine.Path, out []Outgoing) error {
	_, err := t.b.sendBy(ctx, to, out, func(ns *engine.Namespace, now engine.Instant, batch []engine.Submission) ([]engine.Seq, error) {
		return nil, ns.SendIn(now, t.id, to, batch)
	})
	return err
}

// SendVia is Send to one entity by way of another (FWD-14).
func (t *Transaction) SendVia(ctx context.Context, via, to engine.Path, out []Outgoing) error {
	_, err := t.b.sendBy(ctx, to, out, func(ns *engine.Namespace, now engine.Instant, batch []engine.Submission) ([]engine.Seq, error) {
		return nil, ns.SendViaIn(now, t.id, via, to, batch)
	})
	return err
}

// Settle gives settlements to the transaction and says of each whether it takes
// it, nil if so. Until Commit the messages stay locked.
func (t *Transaction) Settle(ctx context.Context, all ...engine.Settlement) ([]error, error) {
	return do(ctx, t.b, 0, func(ns *engine.Namespace, now engine.Instant) ([]error, error) {
		errs := make([]error, len(all))
		for i, s := range all {
			errs[i] = ns.SettleIn(now, t.id, s)
		}
		return errs, nil
	})
}

// SettleAll is Settle for several deliveries, all or none.
func (t *Transaction) SettleAll(ctx context.Context, all []engine.Settlement) error {
	return act(ctx, t.b, func(ns *engine.Namespace, now engine.Instant) error { return ns.SettleAllIn(now, t.id, all) })
}

// Receive is refused: receiving is no operation of a transaction (TX-1).
func (t *Transaction) Receive(ctx context.Context, in Receive) ([]Received, error) {
	in.in = t.id
	return t.b.Receive(ctx, in)
}

// Commit does it all and returns the numbers of what was sent, in order, once
// that is durable. Where something fails, nothing is done and the transaction is
// over: the error is engine.ErrRolledBack, and that of what failed. While nothing
// can be written, which is engine.ErrBusy and nothing else, nothing is done either,
// but the transaction goes on. If the store did not answer, that is engine.ErrBusy
// too and whether it was done is not known; it is engine.ErrTransaction from then
// on.
//
// The SQL rules of topics are asked outside the owner's turn, as for a Send.
func (t *Transaction) Commit(ctx context.Context) ([]engine.Seq, error) {
	var ask []engine.Unplanned
	seqs, err := do(ctx, t.b, 0, func(ns *engine.Namespace, now engine.Instant) ([]engine.Seq, error) {
		if ask = ns.Unplanned(t.id); len(ask) > 0 {
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

// Rollback ends the transaction with nothing done.
func (t *Transaction) Rollback(ctx context.Context) error {
	return act(ctx, t.b, func(ns *engine.Namespace, now engine.Instant) error {
		_, err := ns.Discharge(now, t.id, engine.Rollback)
		return err
	})
}
