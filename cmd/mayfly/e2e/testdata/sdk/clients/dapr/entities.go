package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/dapr/components-contrib/bindings"
	sbqueues "github.com/dapr/components-contrib/bindings/azure/servicebusqueues"
	"github.com/dapr/components-contrib/metadata"
	"github.com/dapr/components-contrib/pubsub"
)

var limits = map[string]string{"maxDeliveryCount": "7", "lockDurationInSec": "40", "defaultMessageTimeToLiveInSec": "3600", "autoDeleteOnIdleInSec": "600"}

// topicCases returns the cases that differ between topics and queues: created entities, several
// consumers, sessions and cloud events.
func topicCases() []testCase {
	return []testCase{
		{"topics: creates the topic and its subscription", func(ctx context.Context) error { return creates(ctx, ofTopics) }},
		{"queues: creates the queue", func(ctx context.Context) error { return creates(ctx, ofQueues) }},
		{"topics: consumers", consumers},
		{"topics: sessions", sessions},
		{"topics: a subscription with sessions already exists", sessionsDiffer},
		{"topics: a cloud event", cloudEvent},
	}
}

func creates(ctx context.Context, k kind) error {
	c, err := k.start(ctx, limits)
	if err != nil {
		return err
	}
	path := k.name + "-made"
	if err := subscribe(ctx, c, path, &inbox{}); err != nil {
		return err
	}
	made, err := see(k.source(path))
	if err != nil {
		return err
	}
	p := made.Properties
	return equal(
		[]any{p["MaxDeliveryCount"], p["LockDuration"], p["DefaultMessageTimeToLive"], p["AutoDeleteOnIdle"], p["RequiresSession"]},
		[]any{7.0, "PT40S", "PT1H", "PT10M", false})
}

// consumers receives from two subscriptions of one topic, from one of them with two components.
func consumers(ctx context.Context) error {
	const topic = "consumers"
	var inboxes []*inbox
	var publisher component
	for _, id := range []string{"alone", "shared", "shared"} {
		c, err := ofTopics.start(ctx, map[string]string{"consumerID": id})
		if err != nil {
			return err
		}
		in := &inbox{}
		if err := subscribe(ctx, c, topic, in); err != nil {
			return err
		}
		publisher, inboxes = c, append(inboxes, in)
	}
	want := numbered("m", 40)
	if err := errors.Join(publish(ctx, publisher, topic, nil, want...), inboxes[0].wants(want...)); err != nil {
		return err
	}
	return errors.Join(
		until(func() error { return equal(sorted(append(inboxes[1].bodies(), inboxes[2].bodies()...)), want) }),
		holds(topic+"/Subscriptions/alone", "active", 0), holds(topic+"/Subscriptions/shared", "active", 0))
}

// sessions sends to more sessions than the component receives from at a time.
func sessions(ctx context.Context) error {
	c, err := ofTopics.start(ctx, nil)
	if err != nil {
		return err
	}
	in := &inbox{}
	request := pubsub.SubscribeRequest{Topic: "sessions", Metadata: map[string]string{"requireSessions": "true", "maxConcurrentSessions": "2", "sessionIdleTimeoutInSec": "1"}}
	if err := c.Subscribe(ctx, request, in.handle); err != nil {
		return err
	}
	var all []string
	for _, text := range numbered("", 5) {
		for _, session := range []string{"a", "b", "c", "d"} {
			all = append(all, session+text)
			if err := publish(ctx, c, "sessions", map[string]string{"SessionId": session}, session+text); err != nil {
				return err
			}
		}
	}
	if err := in.wants(all...); err != nil {
		return err
	}
	bySession := map[string][]string{}
	for _, m := range in.messages() {
		session := m.Metadata["metadata.SessionId"]
		bySession[session] = append(bySession[session], string(m.Data))
	}
	for _, session := range []string{"a", "b", "c", "d"} {
		if err := equal(bySession[session], numbered(session, 5)); err != nil {
			return err
		}
	}
	return holds(ofTopics.source("sessions"), "active", 0)
}

func sessionsDiffer(ctx context.Context) error {
	c, err := ofTopics.start(ctx, nil)
	if err != nil {
		return err
	}
	var made entity
	if err := errors.Join(makeEntity("topic", "differ"), call("POST", "/entities", map[string]any{
		"kind": "subscription", "path": ofTopics.source("differ"), "properties": map[string]bool{"RequiresSession": true},
	}, &made)); err != nil {
		return err
	}
	return failsWith(subscribe(ctx, c, "differ", &inbox{}), "session requirement doesn't match")
}

func bindingCases() []testCase {
	return []testCase{
		{"binding: sends and reads", bindingReads},
		{"binding: a handler that always fails", bindingFails},
	}
}

// startBinding returns a binding of a queue.
func startBinding(ctx context.Context, queue string, options map[string]string) (bindings.InputOutputBinding, error) {
	b := sbqueues.NewAzureServiceBusQueues(log())
	all := settings(options)
	all["queueName"] = queue
	if err := b.Init(ctx, bindings.Metadata{Base: metadata.Base{Properties: all}}); err != nil {
		return nil, err
	}
	return b, nil
}

func invoke(ctx context.Context, b bindings.OutputBinding, metadata map[string]string, text string) error {
	_, err := b.Invoke(ctx, &bindings.InvokeRequest{Operation: bindings.CreateOperation, Data: []byte(text), Metadata: metadata})
	return err
}

func bindingReads(ctx context.Context) error {
	b, err := startBinding(ctx, "bound", limits)
	if err != nil {
		return err
	}
	made, err := see("bound")
	if err != nil {
		return err
	}
	if err := equal([]any{made.Properties["MaxDeliveryCount"], made.Properties["LockDuration"]}, []any{7.0, "PT40S"}); err != nil {
		return err
	}
	read := make(chan *bindings.ReadResponse, 10)
	if err := b.Read(ctx, func(_ context.Context, r *bindings.ReadResponse) ([]byte, error) { read <- r; return nil, nil }); err != nil {
		return err
	}
	if err := invoke(ctx, b, map[string]string{"id": "id", "correlationID": "correlation", "Label": "label", "own": "a property"}, "m"); err != nil {
		return err
	}
	select {
	case r := <-read:
		if err := errors.Join(equal(string(r.Data), "m"), equal(r.Metadata, map[string]string{"id": "id", "correlationID": "correlation", "label": "label", "own": "a+property"})); err != nil {
			return err
		}
	case <-ctx.Done():
		return ctx.Err()
	}
	return holds("bound", "active", 0)
}

func bindingFails(ctx context.Context) error {
	b, err := startBinding(ctx, "bound-poison", map[string]string{"maxDeliveryCount": "2"})
	if err != nil {
		return err
	}
	var tries atomic.Int32
	if err := b.Read(ctx, func(context.Context, *bindings.ReadResponse) ([]byte, error) {
		tries.Add(1)
		return nil, errors.New("refused by the case")
	}); err != nil {
		return err
	}
	return errors.Join(invoke(ctx, b, nil, "poison"), holds("bound-poison", "deadLetter", 1), equal(tries.Load(), 2))
}

// A peeked is a message as the JSON API returns it.
type peeked struct {
	Body, TimeToLive string
	DeliveryCount    int
	Properties       map[string]struct{ Value any }
}

// peek returns the messages of an entity, or an error if it has none.
func peek(path string) ([]peeked, error) {
	var found struct{ Messages []peeked }
	if err := call("GET", "/peek/"+path, nil, &found); err != nil {
		return nil, err
	}
	if len(found.Messages) == 0 {
		return nil, fmt.Errorf("%s has no messages", path)
	}
	return slices.Clone(found.Messages), nil
}

func toJSON(v any) (string, error) {
	var b strings.Builder
	err := json.NewEncoder(&b).Encode(v)
	return strings.TrimSpace(b.String()), err
}
