package mongo

import (
	"time"

	"mayfly/engine"
	"mayfly/engine/record"
)

type sessionChange struct {
	at   version
	s    engine.Session
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

func sessionID(v engine.Session) engine.SessionID {
	return engine.SessionID{Holder: v.Holder, ID: v.ID}
}

func (s *Store) sessionDoc(id engine.SessionID, c sessionChange) any {
	return sessionDoc{
		Head: header{s.names.session(id), c.at, string(s.names)}, Path: s.pathOf(id.Holder), Holder: int64(id.Holder),
		SessionID: text(id.ID), Bytes: int64(len(c.s.State)), ChangedAt: date(c.s.ChangedAt), Exact: record.Append(nil, c.s),
	}
}
