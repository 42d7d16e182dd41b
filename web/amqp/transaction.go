package amqp

import (
	"encoding/binary"
	"errors"
	"io"
	"time"

	"mayfly/engine"
	"mayfly/engine/broker"
	"mayfly/web/amqp/wire"
)

// maxTransactions is the maximum number of open transactions of a connection.
const maxTransactions = 1_000

// A transaction is declared by the client of a connection, all of whose links can take part in it
// (§5.4, TX-1). It ends with a discharge, with the link on which it was declared, or with the
// connection. It also ends when it expires (TX-2), which takes effect with its next operation.
//
// Its operations run in order.
type transaction struct {
	c           *conn
	id          []byte // the client's id for it
	tx          *broker.Transaction
	coordinator *coordinator
	since       time.Time
	queue       workQueue

	enlisted      []settlement // its settlements; guarded by the connection's mutex
	refusedCount  int64        // how many of enlisted the broker has refused; guarded by the connection's mutex
	firstEnlisted time.Time    // when the first of them was enlisted; zero if there is none
	failed        error        // why it cannot be committed; owned by queued functions
}

func (c *conn) newTransaction(tx *broker.Transaction, by *coordinator) *transaction {
	return &transaction{c: c, id: binary.BigEndian.AppendUint64(nil, uint64(tx.ID())), tx: tx, coordinator: by, since: time.Now()}
}

// transactionalState returns a transactional state with this outcome.
func (t *transaction) transactionalState(outcome wire.State) wire.State {
	return wire.Transactional{TxnID: t.id, Outcome: outcome}
}

// transactionOf returns the transaction that a state names, or nil if it names none. It returns
// errNoTransaction if the connection has no such transaction.
func (c *conn) transactionOf(state wire.State) (*transaction, error) {
	in, ok := state.(wire.Transactional)
	if !ok {
		return nil, nil
	}
	if t := c.transactions[string(in.TxnID)]; t != nil {
		return t, nil
	}
	return nil, errNoTransaction
}

var errNoTransaction = engine.Refuse(engine.ErrTransaction, "The transaction was not declared on this connection, or has ended.")

// enqueue calls f after the functions that were enqueued before. The caller holds the connection's
// mutex; f runs without it.
func (t *transaction) enqueue(f func()) { t.c.enqueueWork(&t.queue, f) }

// rollBack rolls the transaction back and releases its deliveries. It ignores an error of the
// broker, because the transaction expires by itself.
func (t *transaction) rollBack() {
	_ = t.tx.Rollback(t.c.s.ctx) //nolint:errcheck // it expires by itself
	t.releaseSettled()
	t.c.mail.call(func() { t.settleEnlisted(false) })
}

// endTransactions rolls back the open transactions that were declared on the link `of`.
func (c *conn) endTransactions(of *coordinator) {
	for id, t := range c.transactions {
		if t.coordinator == of {
			delete(c.transactions, id)
			t.enqueue(t.rollBack)
		}
	}
}

// enqueueInTransaction queues a message for its transaction. A streamed message is sent at once, so
// that its data goes to the store while it arrives, but it only takes its place in the transaction
// when all of it has arrived. So transactions never wait for clients.
func (m *incomingDelivery) enqueueInTransaction() error {
	c := m.receiver.s.c
	if m.pipe != nil {
		m.turn, m.sent = make(chan struct{}), make(chan struct{})
		m.messages[0].Reader = &turnReader{m.pipe, m.turn}
		c.background.Go(func() {
			defer close(m.sent)
			m.sendInTransaction()
		})
		return nil
	}
	if err := c.takeIncomingBytes(m.size); err != nil {
		return err
	}
	m.countedBytes = m.size
	m.tx.enqueue(func() {
		m.sendInTransaction()
		m.tx.recordFailure(m.settled, m.failed)
	})
	return nil
}

// completeInTransaction makes the reader of a streamed message return io.EOF, so that the message
// takes its place in the transaction, and waits until it is sent.
func (m *incomingDelivery) completeInTransaction() {
	close(m.turn)
	<-m.sent
	m.tx.recordFailure(m.settled, m.failed)
}

func (m *incomingDelivery) sendInTransaction() {
	c := m.receiver.s.c
	var err error
	if m.receiver.destination != "" {
		err = m.tx.inSession(m.receiver.s).SendVia(c.s.ctx, m.receiver.path, m.receiver.destination, m.messages)
	} else {
		err = m.tx.inSession(m.receiver.s).Send(c.s.ctx, m.receiver.path, m.messages)
	}
	if m.pipe != nil {
		m.pipe.closeReader()
	}
	c.giveIncomingBytes(m.countedBytes)
	m.failed = err
	m.brokerAnswered(err)
}

// turnReader reads the data of a streamed message. At the end it waits until turn is closed before
// it returns io.EOF.
type turnReader struct {
	pipe *pipe
	turn <-chan struct{}
}

func (r *turnReader) Read(b []byte) (int, error) {
	n, err := r.pipe.Read(b)
	if err == io.EOF { //nolint:errorlint // a pipe does not wrap it
		<-r.turn
	}
	return n, err
}

// enqueueAndWait runs f in the transaction's order and returns when it has run. It is called
// without the connection's mutex.
func (t *transaction) enqueueAndWait(f func() error) (err error) {
	done := make(chan struct{})
	t.c.mu.Lock()
	t.enqueue(func() {
		defer close(done)
		err = f()
	})
	t.c.mu.Unlock()
	<-done
	return err
}

func (co *coordinator) declare(id uint32, settled bool) {
	c := co.s.c
	if settled { // AMQP 1.0 forbids this (part 4, 4.2)
		co.s.detachForViolation(co.handle, &wire.Error{Condition: wire.CondIllegalState, Description: "The declare was sent settled. Send it unsettled: its answer carries the transaction id."})
		return
	}
	if err := c.dropExpiredTransactions(); err != nil {
		co.answer(id, settled, rejectedState(err))
		return
	}
	c.pendingDeclares++
	c.background.Go(func() {
		tx, err := c.b.BeginTransaction(c.ctx, c.clientName())
		c.mu.Lock()
		c.pendingDeclares--
		var state wire.State
		switch {
		case err != nil:
			state = rejectedState(err)
		case co.ended:
			c.newTransaction(tx, co).enqueue(func() { _ = tx.Rollback(c.s.ctx) }) //nolint:errcheck // it expires by itself
		default:
			t := c.newTransaction(tx, co)
			c.transactions[string(t.id)] = t
			state = wire.Declared{TxnID: t.id}
		}
		c.mu.Unlock()
		c.mail.call(func() { co.answer(id, settled, state) })
	})
}

// dropExpiredTransactions drops transactions that expired long ago, if there are many. It
// returns an error if there are still too many.
func (c *conn) dropExpiredTransactions() error {
	if len(c.transactions)+c.pendingDeclares < maxTransactions {
		return nil
	}
	over := time.Now().Add(-10 * c.b.Limits().TransactionTime) // transactions from before this time have expired, whatever happened in them
	for id, t := range c.transactions {
		if t.since.Before(over) {
			delete(c.transactions, id)
			t.enqueue(t.rollBack)
		}
	}
	if len(c.transactions)+c.pendingDeclares < maxTransactions {
		return nil
	}
	return engine.Refuse(engine.ErrQuota, "The connection has too many open transactions.")
}

// discharge takes the transaction from the connection, so that no later operation can use it, and
// commits it or rolls it back after its earlier operations have run.
func (co *coordinator) discharge(id uint32, settled bool, d wire.Discharge) {
	c := co.s.c
	t, err := c.transactionOf(wire.Transactional{TxnID: d.TxnID})
	if err != nil {
		co.answer(id, settled, rejectedState(err))
		return
	}
	c.queueSettlements() // settlements that the client sent before come first
	delete(c.transactions, string(t.id))
	t.enqueue(func() {
		over, err := t.end(d.Fail)
		if over && (err != nil || d.Fail) {
			t.releaseSettled()
		}
		c.mail.call(func() {
			if over {
				t.settleEnlisted(err == nil && !d.Fail)
			}
			var state wire.State = wire.Accepted{}
			if err != nil {
				state = rejectedState(err)
			}
			co.answer(id, settled, state)
		})
	})
}

// end commits the transaction or rolls it back. It reports false if the store cannot be written at
// the moment and the transaction stays open.
func (t *transaction) end(fail bool) (over bool, err error) {
	c, ctx := t.c, t.c.s.ctx
	switch {
	case fail:
		err = t.tx.Rollback(ctx)
	case t.failed != nil:
		_ = t.tx.Rollback(ctx) //nolint:errcheck // it expires by itself
		return true, engine.Refuse(engine.ErrRolledBack, "%s", "The transaction was rolled back, because an operation that the client had sent settled was refused: "+t.failed.Error())
	default:
		_, err = t.tx.Commit(ctx)
	}
	if !errors.Is(err, engine.ErrBusy) || errors.Is(err, engine.ErrTransaction) {
		return true, err
	}
	// Nothing was done and the transaction stays open: the client may try again.
	c.mu.Lock()
	defer c.mu.Unlock()
	if t.coordinator.ended {
		t.enqueue(t.rollBack)
	} else {
		c.transactions[string(t.id)] = t
	}
	return false, err
}

// A transactionScope determines which entities the links of a session may use in transactions. A
// session whose first link is a coordinator may use any entities in the transactions that are
// declared there: SDKs open all links of a client in one session for that
// (EnableCrossEntityTransactions). In return, all its receivers must be at the queue or topic of
// the session's first link to an entity (TX-3). Operations in other sessions are confined to one
// entity and one partition.
//
// Clients may attach several links before the first is answered. The first link is then the one
// whose attach came first among those that are not refused.
type transactionScope struct {
	attachCount int  // links that were attached in the session so far
	crossEntity bool // the first link was a coordinator

	topLevel       string // folded name of the entity of the first link to an entity, or empty
	firstAttach    int    // number of that link's attach, from 1
	receiverEntity string // folded name of the receivers' entity, or empty
}

// countAttach counts a link and returns the number of its attach.
func (g *transactionScope) countAttach(l link) int {
	if g.attachCount++; g.attachCount == 1 {
		_, g.crossEntity = l.(*coordinator)
	}
	return g.attachCount
}

// linkAttached records that the link of the nth attach is attached to an entity.
func (g *transactionScope) linkAttached(p engine.Path, nth int, receives bool) {
	name := p.TopLevel().Fold()
	if g.topLevel == "" || nth < g.firstAttach {
		g.topLevel, g.firstAttach = name, nth
	}
	if receives {
		g.receiverEntity = name
	}
}

// checkSender returns an error if the sender of the nth attach may not be attached to p.
func (g *transactionScope) checkSender(p engine.Path, nth int) error {
	name := p.TopLevel().Fold()
	if g.crossEntity && (g.topLevel != "" && g.firstAttach < nth && g.topLevel != name || g.receiverEntity != "" && g.receiverEntity != name) {
		return engine.Refuse(engine.ErrNotAllowed, "%s", engine.ReceiverScopeText)
	}
	return nil
}

// inSession returns the transaction for operations in the session s: confined to one entity and
// partition, unless s is the cross-entity session in which the transaction was declared.
func (t *transaction) inSession(s *session) *broker.Transaction {
	if t.coordinator.s == s && s.transactionScope.crossEntity {
		return t.tx
	}
	return t.tx.Confined()
}
