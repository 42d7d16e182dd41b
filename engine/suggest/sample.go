package suggest

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode"

	"mayfly/engine"
	"mayfly/engine/broker"
	"mayfly/engine/search"
)

// Bounds of a sample.
const (
	mostRooms  = 40                     // places that messages are taken from
	mostRows   = 10                     // messages of each
	mostBodies = 64                     // that are read
	mostBody   = 16 << 10               // bytes of one that is read
	mostKeys   = 200                    // properties and paths
	mostValues = 20                     // of one key
	mostText   = 60                     // characters of a value
	mostDeep   = 8                      // members of a path
	forBodies  = 300 * time.Millisecond // that reading them may take
	freshFor   = 3 * time.Second        // that a sample is used
)

// A sample is what some messages have. It is not changed once it was taken.
type sample struct {
	at     engine.Instant
	names  []engine.Named
	keys   []string            // of properties and JSON as they are written, without the colon, in the order they were met
	values map[string][]string // of these and of other keys of the grammar
}

// sampled is a sample that is not older than freshFor.
func (s *Source) sampled(ctx context.Context) (*sample, error) {
	s.mu.Lock()
	last := s.last
	s.mu.Unlock()
	stands := s.b.Pace().Rate == 0 // then nobody knows how old it is
	if age := s.b.Clock().Sub(last.at); last.names != nil && !stands && age >= 0 && age < freshFor {
		return last, nil
	}
	fresh, err := take(ctx, s.b)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	s.last = fresh
	s.mu.Unlock()
	return fresh, nil
}

// take takes a sample.
func take(ctx context.Context, b *broker.Broker) (*sample, error) {
	var rows []engine.Row
	out := &sample{values: map[string][]string{}}
	err := b.Read(ctx, func(r broker.Reader) error {
		rows = nil
		out.at, out.names = r.Now, r.Names()
		rooms := r.Rooms(engine.ClassAll)
		step := max(1, len(rooms)/mostRooms)
		for i := 0; i < len(rooms) && i/step < mostRooms; i += step {
			some, err := r.Browse(engine.Browse{Path: rooms[i].Path, From: 1, Limit: mostRows})
			if err != nil {
				return err //nolint:wrapcheck // it is there in this very turn
			}
			rows = append(rows, some...)
		}
		return nil
	})
	if err != nil {
		return nil, err //nolint:wrapcheck // the caller asked for just this
	}
	for _, r := range rows {
		out.learn(r)
	}
	brief, cancel := context.WithTimeout(ctx, forBodies)
	defer cancel()
	out.readBodies(brief, b, rows)
	return out, nil
}

// learn takes what stands beside the body of a message.
func (s *sample) learn(r engine.Row) {
	c, err := r.Content.Content()
	if err != nil {
		return // rows come out of the broker decoded once already
	}
	for key, text := range map[string]string{
		"subject": c.Subject, "type": c.ContentType, "to": c.To, "reply-to": c.ReplyTo, "session": c.SessionID, "correlation": c.CorrelationID, "id": c.MessageID,
	} {
		s.add(key, text)
	}
	if x := r.Message.Extra; x != nil && r.Path.IsDeadLetter() {
		s.add("reason", x.Reason)
		s.add("source", x.Source)
	}
	for _, p := range r.Message.Properties(c) {
		s.addKey("prop."+search.Quoted(p.Name), p.Value.Text())
	}
}

// readBodies learns from small bodies, a few of them and not for long.
func (s *sample) readBodies(ctx context.Context, b *broker.Broker, rows []engine.Row) {
	read := map[engine.Key]bool{} // copies have one body
	for _, r := range rows {
		size, key := r.Content.BodySize(), r.Message.Content
		if len(read) == mostBodies || ctx.Err() != nil {
			return
		}
		if size == 0 || size > mostBody || read[key] {
			continue
		}
		read[key] = true
		if body, err := bodyOf(ctx, b, key, size); err == nil { // it may have gone meanwhile
			s.learnBody(r.Content, body)
		}
	}
}

func bodyOf(ctx context.Context, b *broker.Broker, k engine.Key, size int64) ([]byte, error) {
	r, err := b.Body(ctx, k, size)
	if err != nil {
		return nil, err //nolint:wrapcheck // the caller asked for just this
	}
	defer r.Close()
	all, err := io.ReadAll(r)
	if err != nil {
		return nil, fmt.Errorf("read a body: %w", err)
	}
	return all, nil
}

func (s *sample) learnBody(p engine.Packed, body []byte) {
	c, err := p.Content()
	if err != nil {
		return // as in learn
	}
	doc := search.Document(c.BodyKind, body)
	if doc == nil {
		return
	}
	d := json.NewDecoder(bytes.NewReader(doc))
	d.UseNumber()
	var v any
	if d.Decode(&v) == nil {
		s.walk(nil, v)
	}
}

// walk learns what stands at the paths below path.
func (s *sample) walk(path []string, v any) {
	if len(path) > mostDeep {
		return
	}
	below := slices.Clip(path)
	switch v := v.(type) {
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(v)) {
			s.walk(append(below, name), v[name])
		}
		return
	case []any:
		for _, e := range v[:min(len(v), mostValues)] {
			s.walk(append(below, search.AnyElement), e)
		}
		return
	}
	if len(path) == 0 {
		return
	}
	key := "json." + search.JSONPath(path)
	if path[0] == search.AnyElement {
		key = "json" + search.JSONPath(path)
	}
	text := fmt.Sprint(v)
	if v == nil {
		text = "null"
	}
	s.addKey(key, text)
}

// addKey adds a key of its own, and a value of it.
func (s *sample) addKey(key, value string) {
	if _, known := s.values[key]; !known {
		if len(s.keys) == mostKeys || len(key) > 2*mostText {
			return
		}
		s.keys = append(s.keys, key)
		s.values[key] = nil
	}
	s.add(key, value)
}

func (s *sample) add(key, value string) {
	have := s.values[key]
	if value == "" || len(have) == mostValues || len(value) > mostText || strings.ContainsFunc(value, unicode.IsControl) || slices.Contains(have, value) {
		return
	}
	s.values[key] = append(have, value)
}
