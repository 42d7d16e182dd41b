package mongo

import (
	"time"

	"mayfly/engine"
	"mayfly/engine/codec"
)

type settingChange struct {
	at   version
	s    engine.Setting
	gone bool
}

type settingDoc struct {
	Head      header     `bson:",inline"`
	Key       string     `bson:"key"`
	Bytes     int64      `bson:"valueBytes"`
	ChangedAt *time.Time `bson:"changedAt,omitempty"`
	Exact     []byte     `bson:"exact"`
}

func (s *Store) settingDoc(key string, c settingChange) any {
	return settingDoc{
		Head: header{s.names.namespaceSetting(key), c.at, string(s.names)}, Key: text(key),
		Bytes: int64(len(c.s.Value)), ChangedAt: date(c.s.ChangedAt), Exact: codec.Append(nil, c.s),
	}
}

func (l *loader) settings() error {
	if err := l.from.each(namespaceSettings, func(_ docHead, r engine.Record) error {
		v, ok := r.(engine.Setting)
		if _, changed := l.w.settings[v.Key]; !ok || changed {
			return nil
		}
		return l.emit(v, true)
	}); err != nil {
		return err
	}
	for _, c := range l.w.settings {
		if err := l.emit(c.s, !c.gone); err != nil {
			return err
		}
	}
	return nil
}
