package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/dapr/components-contrib/contenttype"
	"github.com/dapr/components-contrib/pubsub"
)

// cases returns the cases that are the same for topics and queues.
func (k kind) cases() []testCase {
	var all []testCase
	for _, c := range []struct {
		name    string
		options map[string]string
		run     func(context.Context, kind, component, string) error
	}{
		{"publish and subscribe", nil, delivers},
		{"metadata of a message", nil, keepsMetadata},
		{"publish in bulk", nil, publishesInBulk},
		{"subscribe in bulk", nil, subscribesInBulk},
		{"a handler that fails once", nil, triesAgain},
		{"a handler that always fails", map[string]string{"maxDeliveryCount": "3"}, deadLetters},
		{"a scheduled message", nil, schedules},
		{"time to live", nil, expires},
		{"a handler that outlasts the lock", map[string]string{"lockDurationInSec": "10", "lockRenewalInSec": "1"}, renewsLocks},
		{"a component that is closed", nil, leavesMessages},
		{"a message that is too large", nil, refusesLarge},
		{"an entity that is missing", map[string]string{"disableEntityManagement": "true"}, needsEntity},
	} {
		all = append(all, testCase{k.name + ": " + c.name, func(ctx context.Context) error {
			component, err := k.start(ctx, c.options)
			if err != nil {
				return err
			}
			return c.run(ctx, k, component, k.name+"-"+strings.ReplaceAll(c.name, " ", "-"))
		}})
	}
	return all
}

func delivers(ctx context.Context, k kind, c component, topic string) error {
	in := &inbox{}
	if err := errors.Join(subscribe(ctx, c, topic, in), publish(ctx, c, topic, nil, numbered("m", 20)...)); err != nil {
		return err
	}
	return errors.Join(in.wants(numbered("m", 20)...), holds(k.source(topic), "active", 0))
}

func keepsMetadata(ctx context.Context, _ kind, c component, topic string) error {
	sent := map[string]string{
		"MessageId": "id", "CorrelationId": "correlation", "Label": "label", "ReplyTo": "answers", "To": "somewhere",
		"PartitionKey": "key", "ContentType": "text/plain", "own": "property",
	}
	in := &inbox{}
	if err := errors.Join(subscribe(ctx, c, topic, in), publish(ctx, c, topic, sent, "m"), in.wants("m")); err != nil {
		return err
	}
	got := in.messages()[0].Metadata
	for _, key := range []string{"LockToken", "EnqueuedTimeUtc", "LockedUntilUtc"} {
		if got["metadata."+key] == "" {
			return fmt.Errorf("%s is missing: %v", key, got)
		}
		delete(got, "metadata."+key)
	}
	want := map[string]string{"metadata.DeliveryCount": "1", "metadata.SequenceNumber": "1"}
	for key, value := range sent {
		want["metadata."+key] = value
	}
	return equal(got, want)
}

func publishesInBulk(ctx context.Context, k kind, c component, topic string) error {
	in := &inbox{}
	var entries []pubsub.BulkMessageEntry
	for _, text := range numbered("bulk", 30) {
		entries = append(entries, pubsub.BulkMessageEntry{
			EntryId: text, Event: []byte(text), ContentType: "text/plain", Metadata: map[string]string{"Label": text},
		})
	}
	if err := k.create(topic); err != nil {
		return err
	}
	answer, err := c.BulkPublish(ctx, &pubsub.BulkPublishRequest{Topic: topic, Entries: entries})
	if err := errors.Join(err, equal(len(answer.FailedEntries), 0), subscribe(ctx, c, topic, in), in.wants(numbered("bulk", 30)...)); err != nil {
		return err
	}
	for _, m := range in.messages() {
		if err := errors.Join(equal(m.Metadata["metadata.Label"], string(m.Data)), equal(m.Metadata["metadata.ContentType"], "text/plain")); err != nil {
			return err
		}
	}
	return holds(k.source(topic), "active", 0)
}

// subscribesInBulk fails one of all entries, once. Only that entry must be delivered again.
func subscribesInBulk(ctx context.Context, k kind, c component, topic string) error {
	if err := errors.Join(k.create(topic), publish(ctx, c, topic, nil, numbered("m", 30)...)); err != nil {
		return err
	}
	var mu sync.Mutex
	var got []string
	largest := 0
	handle := func(_ context.Context, m *pubsub.BulkMessage) ([]pubsub.BulkSubscribeResponseEntry, error) {
		mu.Lock()
		defer mu.Unlock()
		largest = max(largest, len(m.Entries))
		var answers []pubsub.BulkSubscribeResponseEntry
		var failed error
		for _, e := range m.Entries {
			var err error
			if got = append(got, string(e.Event)); string(e.Event) == "m07" && e.Metadata["metadata.DeliveryCount"] == "1" {
				err = errors.New("refused by the case")
				failed = errors.New("one of them failed")
			}
			answers = append(answers, pubsub.BulkSubscribeResponseEntry{EntryId: e.EntryId, Error: err})
		}
		return answers, failed
	}
	if err := c.BulkSubscribe(ctx, pubsub.SubscribeRequest{Topic: topic, BulkSubscribeConfig: pubsub.BulkSubscribeConfig{MaxMessagesCount: 10}}, handle); err != nil {
		return err
	}
	if err := errors.Join(until(func() error {
		mu.Lock()
		defer mu.Unlock()
		return equal(len(got), 31)
	}), holds(k.source(topic), "active", 0)); err != nil {
		return err
	}
	mu.Lock()
	defer mu.Unlock()
	if largest < 2 || largest > 10 {
		return fmt.Errorf("the largest bulk had %d messages, want 2 to 10", largest)
	}
	return equal(sorted(got), sorted(append(numbered("m", 30), "m07")))
}

func triesAgain(ctx context.Context, k kind, c component, topic string) error {
	in := &inbox{refuse: func(body string, n int) bool { return body == "again" && n == 1 }}
	if err := errors.Join(subscribe(ctx, c, topic, in), publish(ctx, c, topic, nil, "again", "once"), in.wants("again", "again", "once")); err != nil {
		return err
	}
	counts := ""
	for _, m := range in.messages() {
		if string(m.Data) == "again" {
			counts += m.Metadata["metadata.DeliveryCount"]
		}
	}
	return errors.Join(equal(counts, "12"), holds(k.source(topic), "active", 0))
}

func deadLetters(ctx context.Context, k kind, c component, topic string) error {
	in := &inbox{refuse: func(body string, _ int) bool { return body == "poison" }}
	if err := errors.Join(subscribe(ctx, c, topic, in), publish(ctx, c, topic, nil, "poison", "good")); err != nil {
		return err
	}
	if err := errors.Join(in.wants("poison", "poison", "poison", "good"), holds(k.source(topic), "deadLetter", 1)); err != nil {
		return err
	}
	found, err := peek(k.source(topic) + "/$DeadLetterQueue")
	if err != nil {
		return err
	}
	return equal([]any{found[0].Body, found[0].Properties["DeadLetterReason"].Value, found[0].DeliveryCount}, []any{"poison", "MaxDeliveryCountExceeded", 3})
}

func schedules(ctx context.Context, k kind, c component, topic string) error {
	var arrived time.Time // written before the message is in the inbox
	in := &inbox{refuse: func(body string, _ int) bool {
		if body == "later" {
			arrived = time.Now()
		}
		return false
	}}
	if err := subscribe(ctx, c, topic, in); err != nil {
		return err
	}
	at := time.Now().Add(3 * time.Second)
	metadata := map[string]string{"ScheduledEnqueueTimeUtc": at.UTC().Format(time.RFC3339Nano)}
	if err := errors.Join(publish(ctx, c, topic, metadata, "later"), publish(ctx, c, topic, nil, "now"), in.wants("now", "later")); err != nil {
		return err
	}
	in.mu.Lock()
	early := at.Sub(arrived)
	in.mu.Unlock()
	if early > time.Millisecond {
		return fmt.Errorf("the message arrived %v before its time", early)
	}
	return errors.Join(equal(in.bodies(), []string{"now", "later"}), holds(k.source(topic), "active", 0))
}

func expires(ctx context.Context, k kind, c component, topic string) error {
	err := errors.Join(k.create(topic), publish(ctx, c, topic, map[string]string{"ttlInSeconds": "1"}, "short"), publish(ctx, c, topic, map[string]string{"ttlInSeconds": "300"}, "long"))
	if err != nil {
		return err
	}
	found, err := peek(k.source(topic))
	if err != nil {
		return err
	}
	if last := found[len(found)-1]; last.Body != "long" || last.TimeToLive != "PT5M" {
		return fmt.Errorf("the last message is %+v, want long with PT5M", last)
	}
	time.Sleep(1100 * time.Millisecond)
	in := &inbox{}
	if err := errors.Join(subscribe(ctx, c, topic, in), publish(ctx, c, topic, nil, "end")); err != nil {
		return err
	}
	return errors.Join(in.wants("end", "long"), holds(k.source(topic), "active", 0))
}

func renewsLocks(ctx context.Context, k kind, c component, topic string) error {
	in := &inbox{work: 12 * time.Second}
	if err := errors.Join(subscribe(ctx, c, topic, in), publish(ctx, c, topic, nil, "m"), in.wants("m"), holds(k.source(topic), "active", 0)); err != nil {
		return err
	}
	return equal(in.messages()[0].Metadata["metadata.DeliveryCount"], "1")
}

// leavesMessages sends a message after the subscription of one component has ended, and before
// that of another begins.
func leavesMessages(ctx context.Context, k kind, c component, topic string) error {
	first, second := &inbox{}, &inbox{}
	if err := errors.Join(subscribe(ctx, c, topic, first), publish(ctx, c, topic, nil, "one"), first.wants("one"), holds(k.source(topic), "active", 0), c.Close()); err != nil {
		return err
	}
	d, err := k.start(ctx, nil)
	if err != nil {
		return err
	}
	if err := errors.Join(publish(ctx, d, topic, nil, "two"), holds(k.source(topic), "active", 1), subscribe(ctx, d, topic, second), second.wants("two")); err != nil {
		return err
	}
	return errors.Join(first.wants("one"), holds(k.source(topic), "active", 0))
}

func refusesLarge(ctx context.Context, k kind, c component, topic string) error {
	in := &inbox{}
	if err := subscribe(ctx, c, topic, in); err != nil {
		return err
	}
	if err := failsWith(publish(ctx, c, topic, nil, strings.Repeat("x", 300_000)), "too large"); err != nil {
		return err
	}
	fits := strings.Repeat("x", 200_000)
	return errors.Join(publish(ctx, c, topic, nil, fits), in.wants(fits), holds(k.source(topic), "active", 0))
}

func needsEntity(ctx context.Context, _ kind, c component, topic string) error {
	if err := failsWith(publish(ctx, c, topic, nil, "m"), "could not be found"); err != nil {
		return err
	}
	_, err := see(topic)
	return failsWith(err, "404")
}

// cloudEvent publishes an application's data in the envelope that the sidecar wraps it in.
func cloudEvent(ctx context.Context) error {
	c, err := ofTopics.start(ctx, nil)
	if err != nil {
		return err
	}
	event := pubsub.NewCloudEventsEnvelope("id", "source", "type", "subject", "event", "servicebus", contenttype.JSONContentType, []byte(`{"text":"hello"}`), "", "")
	pubsub.ApplyMetadata(event, c.Features(), map[string]string{"ttlInSeconds": "60"})
	sent, err := toJSON(event)
	if err != nil {
		return err
	}
	in := &inbox{}
	metadata := map[string]string{"ContentType": contenttype.CloudEventContentType, "ttlInSeconds": "60"}
	if err := errors.Join(subscribe(ctx, c, "event", in), publish(ctx, c, "event", metadata, sent), in.wants(sent)); err != nil {
		return err
	}
	got := in.messages()[0]
	if err := equal(got.Metadata["metadata.ContentType"], contenttype.CloudEventContentType); err != nil {
		return err
	}
	read, err := pubsub.FromCloudEvent(got.Data, "event", "servicebus", "", "")
	if err != nil {
		return err
	}
	return equal([]any{read["id"], read["source"], read["type"], read["subject"], read["data"]}, []any{"id", "source", "type", "subject", map[string]any{"text": "hello"}})
}
