package engine_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"mayfly/engine"
)

// An openTx is a transaction with the messages that it sends and completes. It is never
// changed, only replaced by a new one.
type openTx struct {
	id         engine.TxID
	come, gone []string // ids of the messages that it sends, and of those that it completes
}

// randomTx begins a transaction, adds an operation to one, or ends one.
func (n *network) randomTx() {
	if len(n.deals) < 3 && n.r.IntN(4) == 0 {
		id, err := n.ns.BeginTransaction(n.now, "dealer")
		n.must(err)
		n.deals = append(n.deals, openTx{id: id})
	}
	if len(n.deals) == 0 {
		return
	}
	i := n.r.IntN(len(n.deals))
	d, over := n.deals[i], false
	switch n.r.IntN(6) {
	case 0, 1:
		d, over = n.sendIn(d)
	case 2, 3, 4:
		d, over = n.completeIn(d)
	default:
		over = true
		n.end(d)
	}
	n.deals = slices.Concat(n.deals[:i], n.deals[i+1:])
	if !over {
		n.deals = append(n.deals, d)
	}
}

func (n *network) sendIn(d openTx) (_ openTx, over bool) {
	id := fmt.Sprint(n.ids)
	n.ids++
	batch, to := n.submissions(engine.Content{MessageID: id}), n.any()
	var err error
	if n.r.IntN(2) == 0 {
		err = n.ns.SendViaInTx(n.now, d.id, n.any(), to, batch)
	} else {
		err = n.ns.SendInTx(n.now, d.id, to, batch)
	}
	if err == nil {
		d.come = append(slices.Clone(d.come), id)
	}
	return d, n.over(err)
}

// completeIn adds the completion of a locked message to a transaction.
func (n *network) completeIn(d openTx) (_ openTx, over bool) {
	p := n.any()
	p = []engine.Path{p, p, p.DeadLetter(), p.Transfer()}[n.r.IntN(4)]
	n.links++
	if err := n.ns.Attach(n.now, engine.Link{ID: n.links, Path: p}); err == nil {
		n.must(n.ns.Credit(n.now, n.links, 1+n.r.IntN(3)))
		n.ns.Match(n.now)
		n.ns.Detach(n.now, n.links, engine.DetachedByClient)
	}
	for _, r := range n.rows(p) {
		if r.Message.Locked() && !over {
			id := r.Content.MessageID()
			err := n.ns.SettleInTx(n.now, d.id, engine.Settlement{Token: r.Message.Token()})
			if over = n.over(err); err == nil {
				d.gone = append(slices.Clone(d.gone), id)
			}
		}
	}
	return d, over
}

// over reports whether a transaction has ended, given the error of adding an operation.
func (n *network) over(err error) bool {
	switch {
	case err == nil:
	case errors.Is(err, engine.ErrTransaction):
		n.fates["over"]++
		return true
	case errors.Is(err, engine.ErrQuota):
		if strings.Contains(err.Error(), "in a single transaction") {
			n.fates["too many"]++
		}
	case !errors.Is(err, engine.ErrDisabled) && !errors.Is(err, engine.ErrLockLost):
		n.Fatal(err)
	}
	return false
}

func (n *network) end(d openTx) {
	how := engine.Commit
	if n.r.IntN(4) == 0 {
		how = engine.Rollback
	}
	_, err := n.ns.Discharge(n.now, d.id, how)
	switch {
	case errors.Is(err, engine.ErrRolledBack):
		n.fates["failed"]++
	case errors.Is(err, engine.ErrTransaction):
		n.fates["over"]++
	case err != nil:
		n.Fatal(err)
	case how == engine.Rollback:
		n.fates["rolled back"]++
	default:
		n.fates["committed"]++
		for _, id := range d.come {
			n.there[id] = true
		}
		for _, id := range d.gone {
			delete(n.there, id)
		}
	}
}
