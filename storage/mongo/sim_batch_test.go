package mongo

import (
	"bytes"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"

	"mayfly/engine"
)

// pick returns a random key of a map, or false if the map is empty.
func pick[K ~uint64, V any](r *rand.Rand, m map[K]V) (K, bool) {
	if len(m) == 0 {
		return 0, false
	}
	return slices.Sorted(maps.Keys(m))[r.IntN(len(m))], true
}

// next returns the next batch, or nil if there is nothing to do. Each batch contains the meter
// of the first entity, by which the judge distinguishes states.
func (b *broker) next() *engine.Batch {
	now := b.now()
	batch := &engine.Batch{Now: now, Hard: b.IntN(4) > 0}
	if len(b.entities) == 0 {
		batch.Hard = true
		batch.Entities = []engine.Entity{{ID: 1, DeadLetterID: 2, TransferID: 3, Path: "first", CreatedAt: now}}
	}
	batch.Meters = []engine.Meter{{Subqueue: 1, NextSeq: engine.Seq(now), LastUsed: now}}
	if b.IntN(6) == 0 {
		b.events++
		batch.Hard = true
		batch.Audit = []engine.Event{{N: b.events, Kind: engine.EventPurged, At: now, Path: "first", Actor: "somebody", Audit: true}}
	}
	for range 1 + b.IntN(3) {
		if !b.something(batch, b.IntN(30)) {
			return nil
		}
	}
	return batch
}

// something adds one operation to a batch, if an operation of its kind is possible. It returns
// false if the store failed meanwhile.
func (b *broker) something(batch *engine.Batch, what int) bool {
	if len(b.entities) == 0 {
		return true
	}
	switch {
	case what < 8:
		return b.send(batch)
	case what < 13:
		b.settle(batch)
	case what < 17:
		b.touch(batch)
	case what < 18:
		id := engine.SubqueueID(b.keys.Next())
		batch.Entities = append(batch.Entities, engine.Entity{ID: id, DeadLetterID: id + 1<<30, TransferID: id + 1<<31, Path: engine.Path(fmt.Sprint("q", id)), CreatedAt: batch.Now})
		batch.Meters = append(batch.Meters, engine.Meter{Subqueue: id, NextSeq: 1})
		batch.Hard = true
	case what < 19:
		if id, ok := pick(b.Rand, b.entities); ok && id != 1 && !concerns(batch, id) {
			b.remove(batch, id)
		}
	case what < 20:
		b.rule(batch)
	case what < 23:
		b.session(batch)
	case what < 25:
		b.setting(batch)
	default:
		b.see(batch)
	}
	return true
}

// remove drops an entity and its dead-letter queues, with their messages.
func (b *broker) remove(batch *engine.Batch, id engine.SubqueueID) {
	batch.DropSubqueues = append(batch.DropSubqueues, id, b.entities[id].DeadLetterID, b.entities[id].TransferID)
	batch.Hard = true
	for _, k := range slices.Sorted(maps.Keys(b.messages)) {
		if m := b.messages[k]; slices.Contains(batch.DropSubqueues, m.Subqueue) {
			batch.DropContents = append(batch.DropContents, engine.DroppedContent{Key: m.Content, HasBody: b.bodies[m.Content]})
		}
	}
}

// concerns reports whether a batch may contain a subqueue or its content.
func concerns(batch *engine.Batch, id engine.SubqueueID) bool {
	return len(batch.Entities) > 0 || slices.Contains(batch.DropSubqueues, id) || len(batch.DropMessages) > 0 || len(batch.DropRules) > 0 ||
		len(batch.Messages) > 0 || len(batch.Sessions) > 0 || len(batch.DropSessions) > 0 || len(batch.Seen) > 0 || len(batch.DropSeen) > 0 ||
		slices.ContainsFunc(batch.Rules, func(r engine.Rule) bool { return r.Subscription == id })
}

func (b *broker) send(batch *engine.Batch) bool {
	if len(b.messages) > 12 {
		return true
	}
	id, _ := pick(b.Rand, b.entities)
	if slices.Contains(batch.DropSubqueues, id) {
		return true
	}
	k := b.keys.Next()
	content := fmt.Sprintf("content of %d", k)
	switch b.IntN(4) {
	case 0:
		content = bodyText + content
		batch.Bodies = append(batch.Bodies, engine.Body{Key: k, Bytes: bodyOf(k)})
	case 1:
		if b.IntN(3) > 0 {
			break
		}
		content = bodyText + content
		if err := b.s.Stage(b.ctx, k, bytes.NewReader(bodyOf(k))); err != nil {
			b.tell("%s: stage %d: %v", b.client.name, k, err)
			return b.client.hold() == nil && b.s.Owned() // the message is not sent
		}
	}
	batch.Contents = append(batch.Contents, engine.StoredContent{Key: k, Content: engine.Packed(content)})
	batch.Messages = append(batch.Messages, engine.Message{
		Key: k, Content: k, Subqueue: id, Seq: engine.Seq(batch.Now), EnqueuedSeq: engine.Seq(batch.Now), EnqueuedAt: batch.Now,
	})
	batch.Hard = true
	return true
}

// free picks a message that is not in the batch yet.
func (b *broker) free(batch *engine.Batch) (engine.Message, bool) {
	k, ok := pick(b.Rand, b.messages)
	m := b.messages[k]
	return m, ok && !slices.Contains(batch.DropMessages, k) && !slices.Contains(batch.DropSubqueues, m.Subqueue) &&
		!slices.ContainsFunc(batch.Messages, func(m engine.Message) bool { return m.Key == k })
}

func (b *broker) settle(batch *engine.Batch) {
	if m, ok := b.free(batch); ok {
		batch.DropMessages = append(batch.DropMessages, m.Key)
		batch.DropContents = append(batch.DropContents, engine.DroppedContent{Key: m.Content, HasBody: b.bodies[m.Content]})
		batch.Hard = true
	}
}

// touch locks a message, unlocks it, or dead-letters it.
func (b *broker) touch(batch *engine.Batch) {
	m, ok := b.free(batch)
	if !ok {
		return
	}
	switch b.IntN(4) {
	case 0:
		m.LockedUntil, m.DeliveryCount = 0, m.DeliveryCount+1
	case 1:
		dead := b.entities[m.Subqueue].DeadLetterID
		if b.IntN(3) == 0 {
			dead = b.entities[m.Subqueue].TransferID
		}
		if dead != 0 {
			m.Subqueue, m.Extra = dead, &engine.Extra{DeadLettered: true, Reason: "worn", DeadAt: batch.Now}
			batch.Hard = true
		}
	default:
		m.LockedUntil, m.Nonce = batch.Now+60_000, b.Uint64()
	}
	batch.Messages = append(batch.Messages, m)
}

func (b *broker) rule(batch *engine.Batch) {
	id, _ := pick(b.Rand, b.entities)
	r := engine.RuleID{Subscription: id, Name: fmt.Sprint("rule", b.IntN(3))}
	if slices.Contains(batch.DropSubqueues, id) || slices.Contains(batch.DropRules, r) ||
		slices.ContainsFunc(batch.Rules, func(other engine.Rule) bool { return other.Name == r.Name }) {
		return
	}
	batch.Hard = true
	if _, ok := b.rules[r]; ok {
		batch.DropRules = append(batch.DropRules, r)
		return
	}
	batch.Rules = append(batch.Rules, engine.Rule{Subscription: r.Subscription, Name: r.Name, CreatedAt: batch.Now})
}

// session sets or clears the state of one of a few sessions, so that each is set and cleared
// again and again.
func (b *broker) session(batch *engine.Batch) {
	h, _ := pick(b.Rand, b.entities)
	id := engine.SessionID{Subqueue: h, ID: []string{"s", "S", "s/1"}[b.IntN(3)]}
	if slices.Contains(batch.DropSubqueues, h) || slices.Contains(batch.DropSessions, id) ||
		slices.ContainsFunc(batch.Sessions, func(s engine.SessionRecord) bool { return s.Subqueue == id.Subqueue && s.ID == id.ID }) {
		return
	}
	batch.Hard = true
	if b.sessions[id] && b.IntN(2) == 0 {
		batch.DropSessions = append(batch.DropSessions, id)
		return
	}
	batch.Sessions = append(batch.Sessions, engine.SessionRecord{Subqueue: id.Subqueue, ID: id.ID, State: fmt.Sprint("at ", batch.Now), ChangedAt: batch.Now})
}

// setting sets or drops one of a few settings, so that each is set and dropped again and again.
func (b *broker) setting(batch *engine.Batch) {
	key := []string{"s", "S", "s/1"}[b.IntN(3)]
	if slices.Contains(batch.DropSettings, key) || slices.ContainsFunc(batch.Settings, func(s engine.Setting) bool { return s.Key == key }) {
		return
	}
	batch.Hard = true
	if b.settings[key] && b.IntN(2) == 0 {
		batch.DropSettings = append(batch.DropSettings, key)
		return
	}
	batch.Settings = append(batch.Settings, engine.Setting{Key: key, Value: fmt.Sprint("at ", batch.Now), ChangedAt: batch.Now})
}

// see adds MessageIds and drops some, from the first number on. If there are none when a
// process opens the store, numbers start again.
func (b *broker) see(batch *engine.Batch) {
	h, _ := pick(b.Rand, b.entities)
	if slices.Contains(batch.DropSubqueues, h) || slices.ContainsFunc(batch.Seen, func(s engine.SeenIDs) bool { return s.Subqueue == h }) ||
		slices.ContainsFunc(batch.DropSeen, func(s engine.SeenIDsThrough) bool { return s.Subqueue == h }) {
		return
	}
	batch.Hard = true
	last := b.numbers[h]
	switch b.IntN(5) {
	case 0:
		batch.DropSeen = append(batch.DropSeen, engine.SeenIDsThrough{Subqueue: h, N: last})
	case 1:
		batch.DropSeen = append(batch.DropSeen, engine.SeenIDsThrough{Subqueue: h, N: last - min(last, uint64(b.IntN(4)))})
	}
	for range b.IntN(3) {
		last++
		batch.Seen = append(batch.Seen, engine.SeenIDs{Subqueue: h, N: last, At: batch.Now, Digests: []engine.Digest{{byte(batch.Now), byte(last)}}})
	}
}

// bodyText marks contents that have a body, which is derived from the key.
const bodyText = "with a body "

func withBody(c engine.Packed) bool { return strings.HasPrefix(string(c), bodyText) }

func bodyOf(k engine.Key) []byte {
	r := rand.New(rand.NewPCG(uint64(k), 0))
	return bytes.Repeat([]byte{byte(k), byte(k >> 40), byte(r.Uint32())}, 1+r.IntN(100))
}

func (b *broker) apply(batch *engine.Batch) {
	for _, e := range batch.Entities {
		b.entities[e.ID] = e
	}
	for _, r := range batch.Rules {
		b.rules[engine.RuleID{Subscription: r.Subscription, Name: r.Name}] = r
	}
	for _, s := range batch.Sessions {
		b.sessions[sessionID(s)] = true
	}
	for _, s := range batch.Settings {
		b.settings[s.Key] = true
	}
	for _, key := range batch.DropSettings {
		delete(b.settings, key)
	}
	for _, s := range batch.Seen {
		b.numbers[s.Subqueue] = s.N
	}
	for _, id := range batch.DropSessions {
		delete(b.sessions, id)
	}
	for _, c := range batch.Contents {
		b.bodies[c.Key] = withBody(c.Content)
	}
	for _, m := range batch.Messages {
		b.messages[m.Key] = m
	}
	for _, k := range batch.DropMessages {
		delete(b.messages, k)
	}
	for _, c := range batch.DropContents {
		delete(b.bodies, c.Key)
	}
	for _, id := range batch.DropRules {
		delete(b.rules, id)
	}
	for _, id := range batch.DropSubqueues {
		delete(b.entities, id)
		delete(b.numbers, id)
		maps.DeleteFunc(b.sessions, func(s engine.SessionID, _ bool) bool { return s.Subqueue == id })
		maps.DeleteFunc(b.messages, func(_ engine.Key, m engine.Message) bool { return m.Subqueue == id })
		maps.DeleteFunc(b.rules, func(r engine.RuleID, _ engine.Rule) bool { return r.Subscription == id })
	}
}
