package mongo

import (
	"mayfly/engine"
	"mayfly/engine/record"
)

// noHolder has what is the namespace's own: no entity has this id.
const noHolder engine.HolderID = 0

type accessChange struct {
	at version
	a  engine.Access
}

// An accessDoc names the namespace's access rules for people; the keys are in
// Exact alone.
type accessDoc struct {
	Head  header   `bson:",inline"`
	Kind  string   `bson:"kind"`
	Names []string `bson:"accessRules"`
	Exact []byte   `bson:"exact"`
}

func (s *Store) accessDoc(c accessChange) any {
	d := accessDoc{Head: header{s.names.holder(noHolder), c.at, string(s.names)}, Kind: "access", Names: []string{}, Exact: record.Append(nil, c.a)}
	for _, r := range c.a.Rules {
		d.Names = append(d.Names, text(r.Name))
	}
	return d
}

// access yields what the window has of it; otherwise entities meets the document.
func (l *loader) access(stored *engine.Access) error {
	switch {
	case l.w.access != nil:
		return l.say(l.w.access.a, true)
	case stored != nil:
		return l.say(*stored, true)
	default:
		return nil
	}
}
