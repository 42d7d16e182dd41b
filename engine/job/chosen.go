package job

import (
	"encoding/json"

	"mayfly/engine"
)

// Chosen are messages that were chosen one by one. Its JSON names each place once
// for the messages in a row that are there, so that a record has room for as many as
// may be chosen.
type Chosen []engine.Target

// chosenAt are messages at one place: their keys and numbers.
type chosenAt struct {
	Path     engine.Path `json:"path"`
	Messages [][2]uint64 `json:"messages"`
}

// MarshalJSON implements json.Marshaler.
func (all Chosen) MarshalJSON() ([]byte, error) {
	var places []chosenAt
	for i, t := range all {
		if i == 0 || t.Path != all[i-1].Path {
			places = append(places, chosenAt{Path: t.Path})
		}
		at := &places[len(places)-1]
		at.Messages = append(at.Messages, [2]uint64{uint64(t.Key), uint64(t.Seq)})
	}
	return json.Marshal(places) //nolint:wrapcheck // texts and numbers
}

// UnmarshalJSON implements json.Unmarshaler.
func (all *Chosen) UnmarshalJSON(raw []byte) error {
	var places []chosenAt
	if err := json.Unmarshal(raw, &places); err != nil {
		return err //nolint:wrapcheck // whoever decodes a job says so
	}
	*all = nil
	for _, at := range places {
		for _, m := range at.Messages {
			*all = append(*all, engine.Target{Key: engine.Key(m[0]), Path: at.Path, Seq: engine.Seq(m[1])}) //nolint:gosec // as MarshalJSON wrote it
		}
	}
	return nil
}

// distinct are they without those that were named before.
func (all Chosen) distinct() (out Chosen) {
	known := make(map[engine.Key]bool, len(all))
	for _, t := range all {
		if !known[t.Key] {
			known[t.Key] = true
			out = append(out, t)
		}
	}
	return out
}
