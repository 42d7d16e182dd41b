package mongo

import (
	"time"

	"mayfly/engine"
	"mayfly/engine/codec"
)

type sessionChange struct {
	at   version
	s    engine.SessionRecord
	gone bool
}

type sessionDoc struct {
	Head      header     `bson:",inline"`
	Path      string     `bson:"path,omitempty"`
	Holder    int64      `bson:"holder"`
	SessionID string     `bson:"sessionId"`
	Bytes     int64      `bson:"stateBytes"`
	ChangedAt *time.Time `bson:"changedAt,omitempty"`
	Exact     []byte     `bson:"exact"`
}

func sessionID(v engine.SessionRecord) engine.SessionID {
	return engine.SessionID{Subqueue: v.Subqueue, ID: v.ID}
}

func (s *Store) sessionDoc(id engine.SessionID, c sessionChange) any {
	return sessionDoc{
		Head: header{s.names.session(id), c.at, string(s.names)}, Path: s.pathOf(id.Subqueue), Holder: int64(id.Subqueue),
		SessionID: text(id.ID), Bytes: int64(len(c.s.State)), ChangedAt: date(c.s.ChangedAt), Exact: codec.Append(nil, c.s),
	}
}
