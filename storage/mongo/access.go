package mongo

import (
	"mayfly/engine"
	"mayfly/engine/codec"
)

// noSubqueue is the id under which the namespace's own records are stored. No entity has this id.
const noSubqueue engine.SubqueueID = 0

type accessChange struct {
	at version
	a  engine.Access
}

// An accessDoc lists the namespace's access rules for people; the keys are in Exact alone.
type accessDoc struct {
	Head  header   `bson:",inline"`
	Kind  string   `bson:"kind"`
	Names []string `bson:"accessRules"`
	Exact []byte   `bson:"exact"`
}

func (s *Store) accessDoc(c accessChange) any {
	d := accessDoc{Head: header{s.names.subqueue(noSubqueue), c.at, string(s.names)}, Kind: "access", Names: []string{}, Exact: codec.Append(nil, c.a)}
	for _, r := range c.a.Rules {
		d.Names = append(d.Names, text(r.Name))
	}
	return d
}

// access yields the window's access rules, or else the stored ones, if there are any.
func (l *loader) access(stored *engine.Access) error {
	switch {
	case l.w.access != nil:
		return l.emit(l.w.access.a, true)
	case stored != nil:
		return l.emit(*stored, true)
	default:
		return nil
	}
}
