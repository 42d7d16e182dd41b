package job

import (
	"encoding/json"

	"mayfly/engine"
)

// Selection holds messages that were selected one by one. Its JSON has the path of consecutive
// messages only once, so that MaxMessages fit into a job's record.
type Selection []engine.Target

// selectionAt holds the keys and sequence numbers of messages in one subqueue.
type selectionAt struct {
	Path     engine.Path `json:"path"`
	Messages [][2]uint64 `json:"messages"`
}

// MarshalJSON writes an array of selectionAt, one for consecutive messages in the same subqueue.
func (all Selection) MarshalJSON() ([]byte, error) {
	var out []selectionAt
	for i, t := range all {
		if i == 0 || t.Path != all[i-1].Path {
			out = append(out, selectionAt{Path: t.Path})
		}
		at := &out[len(out)-1]
		at.Messages = append(at.Messages, [2]uint64{uint64(t.Key), uint64(t.Seq)})
	}
	return json.Marshal(out)
}

// UnmarshalJSON parses the output of MarshalJSON.
func (all *Selection) UnmarshalJSON(raw []byte) error {
	var out []selectionAt
	if err := json.Unmarshal(raw, &out); err != nil {
		return err
	}
	*all = nil
	for _, at := range out {
		for _, m := range at.Messages {
			*all = append(*all, engine.Target{Key: engine.Key(m[0]), Path: at.Path, Seq: engine.Seq(m[1])})
		}
	}
	return nil
}

// distinct returns the messages without repetitions.
func (all Selection) distinct() (out Selection) {
	known := make(map[engine.Key]bool, len(all))
	for _, t := range all {
		if !known[t.Key] {
			known[t.Key] = true
			out = append(out, t)
		}
	}
	return out
}
