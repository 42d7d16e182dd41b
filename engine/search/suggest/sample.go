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

const (
	maxSubqueues   = 40                     // subqueues from which messages are taken
	maxRows        = 10                     // messages of each subqueue
	maxBodies      = 64                     // bodies that are read
	maxBodyBytes   = 16 << 10               // bytes of a body that is read
	maxKeys        = 200                    // properties and paths
	maxValues      = 20                     // values of one key
	maxValueLength = 60                     // bytes of a value
	maxPathDepth   = 8                      // members of a path
	bodyTimeout    = 300 * time.Millisecond // how long reading bodies may take
	sampleLifetime = 3 * time.Second        // how long a sample is used
)

// A sample holds values of some messages. It does not change after it was taken.
type sample struct {
	at     engine.Instant
	names  []engine.EntityName
	keys   []string            // keys of properties and JSON values as they are typed, without the colon, in the order of discovery
	values map[string][]string // values of these and of other keys of the grammar
}

// sampled returns a sample that is younger than sampleLifetime.
func (s *Suggester) sampled(ctx context.Context) (*sample, error) {
	s.mu.Lock()
	last := s.last
	s.mu.Unlock()
	stands := s.b.ClockState().Rate == 0 // then the age of the last sample is unknown
	if age := s.b.ClockTime().Sub(last.at); last.names != nil && !stands && age >= 0 && age < sampleLifetime {
		return last, nil
	}
	fresh, err := takeSample(ctx, s.b)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	s.last = fresh
	s.mu.Unlock()
	return fresh, nil
}

// takeSample takes a sample.
func takeSample(ctx context.Context, b *broker.Broker) (*sample, error) {
	var rows []engine.Row
	out := &sample{values: map[string][]string{}}
	err := b.Read(ctx, func(r broker.Reader) error {
		rows = nil
		out.at, out.names = r.Now, r.EntityNames()
		subqueues := r.SubqueuesWith(engine.ClassAll)
		step := max(1, len(subqueues)/maxSubqueues)
		for i := 0; i < len(subqueues) && i/step < maxSubqueues; i += step {
			some, err := r.Browse(engine.Browse{Path: subqueues[i].Path, From: 1, Limit: maxRows})
			if err != nil {
				return err
			}
			rows = append(rows, some...)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	for _, r := range rows {
		out.learn(r)
	}
	brief, cancel := context.WithTimeout(ctx, bodyTimeout)
	defer cancel()
	out.readBodies(brief, b, rows)
	return out, nil
}

// learn adds the properties of a message to the sample.
func (s *sample) learn(r engine.Row) {
	c, err := r.Content.Content()
	if err != nil {
		return // rows from the broker were decoded once already
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
		s.addKey("prop."+search.Quote(p.Name), p.Value.Text())
	}
}

// readBodies adds values of a few small JSON bodies to the sample, until ctx ends.
func (s *sample) readBodies(ctx context.Context, b *broker.Broker, rows []engine.Row) {
	read := map[engine.Key]bool{} // copies share a body
	for _, r := range rows {
		size, key := r.Content.BodySize(), r.Message.Content
		if len(read) == maxBodies || ctx.Err() != nil {
			return
		}
		if size == 0 || size > maxBodyBytes || read[key] {
			continue
		}
		read[key] = true
		if body, err := readBody(ctx, b, key, size); err == nil { // the message may no longer exist
			s.learnBody(r.Content, body)
		}
	}
}

func readBody(ctx context.Context, b *broker.Broker, k engine.Key, size int64) ([]byte, error) {
	r, err := b.Body(ctx, k, size)
	if err != nil {
		return nil, err
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
	doc := search.JSONDocument(c.BodyKind, body)
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

// walk adds v, which is at path, or all values in it to the sample.
func (s *sample) walk(path []string, v any) {
	if len(path) > maxPathDepth {
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
		for _, e := range v[:min(len(v), maxValues)] {
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

// addKey adds a key, if it is new, and a value of it.
func (s *sample) addKey(key, value string) {
	if _, known := s.values[key]; !known {
		if len(s.keys) == maxKeys || len(key) > 2*maxValueLength {
			return
		}
		s.keys = append(s.keys, key)
		s.values[key] = nil
	}
	s.add(key, value)
}

func (s *sample) add(key, value string) {
	have := s.values[key]
	if value == "" || len(have) == maxValues || len(value) > maxValueLength || strings.ContainsFunc(value, unicode.IsControl) || slices.Contains(have, value) {
		return
	}
	s.values[key] = append(have, value)
}
