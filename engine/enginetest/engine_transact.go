package enginetest

import "mayfly/engine"

// transact begins or ends a transaction.
func (x *Engine) transact(c Command) ([]string, error) {
	name := c.Arg(0)
	if c.Name == "transaction" {
		id, err := x.ns.BeginTransaction(x.now, actor)
		if err == nil {
			x.transactions[name] = id
		}
		return nil, err
	}
	how := engine.Commit
	if c.Name == "rollback" {
		how = engine.Rollback
	}
	seqs, err := x.ns.Discharge(x.now, x.transactions[name], how)
	delete(x.transactions, name)
	if err != nil || len(seqs) == 0 {
		return nil, err
	}
	return numbersLine(seqs), nil
}
