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

// mostTransactions is how many transactions a connection may have open.
const mostTransactions = 1_000

// A transaction is one that a client has declared on a connection, whose links
// can all take part in it (§5.4, TX-1). It ends with a discharge, with the link
// that it was declared on, with the connection, or when its time is over (TX-2),
// which is noticed when something is asked of it.
//
// What is asked of it is done in order.
type transaction struct {
	c     *conn
	id    []byte // what the client calls it
	tx    *broker.Transaction
	by    *coordinator
	since time.Time
	line  line
}

func (c *conn) newTransaction(tx *broker.Transaction, by *coordinator) *transaction {
	return &transaction{c: c, id: binary.BigEndian.AppendUint64(nil, uint64(tx.ID())), tx: tx, by: by, since: time.Now()}
}

// state is a state of something in the transaction.
func (t *transaction) state(outcome wire.State) wire.State {
	return wire.Transactional{TxnID: t.id, Outcome: outcome}
}

// transactionOf is what a state says that something is part of; nil if of no
// transaction.
func (c *conn) transactionOf(state wire.State) (*transaction, error) {
	in, ok := state.(wire.Transactional)
	if !ok {
		return nil, nil //nolint:nilnil // none is as good
	}
	if t := c.transactions[string(in.TxnID)]; t != nil {
		return t, nil
	}
	return nil, errNoTransaction
}

var errNoTransaction = &engine.Refusal{Kind: engine.ErrTransaction, Text: "There is no such transaction on this connection: it was not declared here, or is over."}

// do has f be done once all is that was to be before. f must not have the
// connection's mutex, with which do is called.
func (t *transaction) do(f func()) { t.c.enter(&t.line, f) }

// rollBack ends the transaction with nothing done. Whether that can be told to
// the broker does not matter: it ends by itself then.
func (t *transaction) rollBack() { _ = t.tx.Rollback(t.c.s.ctx) } //nolint:errcheck // see above

// endTransactions rolls back what was declared on a link and is open.
func (c *conn) endTransactions(of *coordinator) {
	for id, t := range c.transactions {
		if t.by == of {
			delete(c.transactions, id)
			t.do(t.rollBack)
		}
	}
}

// enterTransaction has a message be sent in its transaction. The data of a
// streamed one goes to the store at once; its place in the transaction it takes
// when all of it has come, so that transactions never wait for clients.
func (m *sending) enterTransaction() error {
	c := m.in.s.c
	if m.pipe != nil {
		m.turn, m.sent = make(chan struct{}), make(chan struct{})
		m.out[0].Reader = &turned{m.pipe, m.turn}
		c.work.Go(func() {
			defer close(m.sent)
			m.sendIn()
		})
		return nil
	}
	if err := c.keep(m.size); err != nil {
		return err
	}
	m.kept = m.size
	m.tx.do(m.sendIn)
	return nil
}

// join is the turn of a streamed message in its transaction.
func (m *sending) join() {
	close(m.turn)
	<-m.sent
}

func (m *sending) sendIn() {
	c := m.in.s.c
	var err error
	if m.in.beyond != "" {
		err = m.tx.tx.SendVia(c.s.ctx, m.in.path, m.in.beyond, m.out)
	} else {
		err = m.tx.tx.Send(c.s.ctx, m.in.path, m.out)
	}
	if m.pipe != nil {
		m.pipe.leave()
	}
	c.unkeep(m.kept)
	m.done(err)
}

// turned is a reader that comes to its end in good order when it is its turn.
type turned struct {
	of   *pipe
	turn <-chan struct{}
}

func (r *turned) Read(b []byte) (int, error) {
	n, err := r.of.Read(b)
	if err == io.EOF { //nolint:errorlint // a pipe does not wrap it
		<-r.turn
	}
	return n, err
}

// settle has settlements be taken by the transaction.
func (t *transaction) settle(list []settling) {
	all := make([]engine.Settlement, len(list))
	for i := range list {
		all[i] = list[i].outcome
	}
	t.do(func() {
		each, err := t.tx.Settle(t.c.s.ctx, all...)
		t.c.mail.do(func() { answerAll(list, each, err) })
	})
}

// await has something be done in the transaction and returns when it is. It is
// called without the connection's mutex.
func (t *transaction) await(f func() error) (err error) {
	done := make(chan struct{})
	t.c.mu.Lock()
	t.do(func() {
		defer close(done)
		err = f()
	})
	t.c.mu.Unlock()
	<-done
	return err
}

// declare begins a transaction.
func (co *coordinator) declare(id uint32, settled bool) {
	c := co.s.c
	if err := c.forgetTransactions(); err != nil {
		co.answer(id, settled, rejected(err))
		return
	}
	c.declaring++
	c.work.Go(func() {
		tx, err := c.b.Declare(c.ctx, c.client())
		c.mu.Lock()
		c.declaring--
		var state wire.State
		switch {
		case err != nil:
			state = rejected(err)
		case co.over:
			c.newTransaction(tx, co).do(func() { _ = tx.Rollback(c.s.ctx) }) //nolint:errcheck // as rollBack
		default:
			t := c.newTransaction(tx, co)
			c.transactions[string(t.id)] = t
			state = wire.Declared{TxnID: t.id}
		}
		c.mu.Unlock()
		c.mail.do(func() { co.answer(id, settled, state) })
	})
}

// forgetTransactions forgets those whose time is long over, if there are many, and
// is an error if there are too many still.
func (c *conn) forgetTransactions() error {
	if len(c.transactions)+c.declaring < mostTransactions {
		return nil
	}
	over := time.Now().Add(-10 * c.b.Limits().TransactionTime) // whatever was done in them, and when
	for id, t := range c.transactions {
		if t.since.Before(over) {
			delete(c.transactions, id)
			t.do(t.rollBack)
		}
	}
	if len(c.transactions)+c.declaring < mostTransactions {
		return nil
	}
	return &engine.Refusal{Kind: engine.ErrQuota, Text: "The connection has too many open transactions."}
}

// discharge ends a transaction. It is over for all that come after; what was asked
// of it before is done first.
func (co *coordinator) discharge(id uint32, settled bool, d wire.Discharge) {
	c := co.s.c
	t, err := c.transactionOf(wire.Transactional{TxnID: d.TxnID})
	if err != nil {
		co.answer(id, settled, rejected(err))
		return
	}
	c.flushSettlements() // what the client settled before comes before
	delete(c.transactions, string(t.id))
	t.do(func() {
		err := t.end(d.Fail)
		c.mail.do(func() {
			var state wire.State = wire.Accepted{}
			if err != nil {
				state = rejected(err)
			}
			co.answer(id, settled, state)
		})
	})
}

func (t *transaction) end(fail bool) error {
	c, ctx := t.c, t.c.s.ctx
	var err error
	if fail {
		err = t.tx.Rollback(ctx)
	} else {
		_, err = t.tx.Commit(ctx)
	}
	if !errors.Is(err, engine.ErrBusy) || errors.Is(err, engine.ErrTransaction) {
		return err //nolint:wrapcheck // the broker's
	}
	// Nothing was done, and it goes on: who declared it may try again.
	c.mu.Lock()
	defer c.mu.Unlock()
	if t.by.over {
		t.do(t.rollBack)
	} else {
		c.transactions[string(t.id)] = t
	}
	return err //nolint:wrapcheck // the broker's
}
