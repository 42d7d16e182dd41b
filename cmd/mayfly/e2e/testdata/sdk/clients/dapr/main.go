// Command dapr uses Dapr's components for Service Bus as Dapr's sidecar does: pub/sub with
// topics, pub/sub with queues, and the binding of queues. It prints its results in the format
// of the SDKs' test programs.
//
// The components connect to ports 5671 and 443 of a host, with the version of the Go SDK that
// components-contrib requires.
package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"

	"github.com/dapr/components-contrib/metadata"
	"github.com/dapr/components-contrib/pubsub"
	"github.com/dapr/components-contrib/pubsub/azure/servicebus/queues"
	"github.com/dapr/components-contrib/pubsub/azure/servicebus/topics"
	"github.com/dapr/kit/logger"
)

// consumer is the subscription's name, unless a case chooses another.
const consumer = "app"

func main() {
	if err := os.Setenv("SSL_CERT_FILE", os.Getenv("SB_CA")); err != nil {
		panic(err)
	}
	cases := bindingCases()
	for _, k := range kinds {
		cases = append(cases, k.cases()...)
	}
	cases = append(cases, topicCases()...)
	runAll(cases)
	after := []testCase{{"a subscription goes on after the server's restart", goesOn}}
	runAll(after) // after the others, because it stops their server
	fmt.Printf("DONE %d\n", len(cases)+len(after))
}

// A component is one of Dapr's pub/sub components.
type component interface {
	pubsub.PubSub
	pubsub.BulkPublisher
	pubsub.BulkSubscriber
}

// A kind is one of the kinds of pub/sub components.
type kind struct {
	name string
	make func(logger.Logger) pubsub.PubSub
}

var (
	ofTopics = kind{"topics", topics.NewAzureServiceBusTopics}
	ofQueues = kind{"queues", queues.NewAzureServiceBusQueues}
	kinds    = []kind{ofTopics, ofQueues}
)

// start returns a component. The end of ctx, which ends its subscriptions, does not close
// it: the component panics when it is closed while a subscription begins.
func (k kind) start(ctx context.Context, options map[string]string) (component, error) {
	c, ok := k.make(log()).(component)
	if !ok {
		return nil, errors.New("the component has no bulk operations")
	}
	if err := c.Init(ctx, pubsub.Metadata{Base: metadata.Base{Properties: settings(options)}}); err != nil {
		return nil, err
	}
	return c, nil
}

// log returns a logger to standard error, because standard output is for the results.
func log() logger.Logger {
	l := logger.NewLogger("dapr")
	l.SetOutput(os.Stderr)
	return l
}

// settings returns a component's configuration with these options.
func settings(options map[string]string) map[string]string {
	all := map[string]string{
		"connectionString":           "Endpoint=sb://" + os.Getenv("SB_HOST") + "/;SharedAccessKeyName=RootManageSharedAccessKey;SharedAccessKey=SAS_KEY_VALUE",
		"consumerID":                 consumer,
		"timeoutInSec":               "20",
		"minConnectionRecoveryInSec": "1",
	}
	maps.Copy(all, options)
	return all
}

// source returns the path of the entity that a subscription to a topic receives from.
func (k kind) source(topic string) string {
	if k.name == ofTopics.name {
		return topic + "/Subscriptions/" + consumer
	}
	return topic
}

// create creates the entities that a component would create itself.
func (k kind) create(topic string) error {
	if k.name == ofQueues.name {
		return makeEntity("queue", topic)
	}
	return errors.Join(makeEntity("topic", topic), makeEntity("subscription", k.source(topic)))
}

func makeEntity(kind, path string) error {
	var made entity
	return call("POST", "/entities", map[string]string{"kind": kind, "path": path}, &made)
}

func subscribe(ctx context.Context, c component, topic string, in *inbox) error {
	return c.Subscribe(ctx, pubsub.SubscribeRequest{Topic: topic}, in.handle)
}

// publish publishes texts, each with the metadata.
func publish(ctx context.Context, c component, topic string, metadata map[string]string, texts ...string) error {
	for _, text := range texts {
		if err := c.Publish(ctx, &pubsub.PublishRequest{Topic: topic, Data: []byte(text), Metadata: metadata}); err != nil {
			return err
		}
	}
	return nil
}

// goesOn restarts the server during a subscription.
func goesOn(ctx context.Context) error {
	c, err := ofQueues.start(ctx, nil)
	if err != nil {
		return err
	}
	in := &inbox{}
	if err := errors.Join(subscribe(ctx, c, "restarted", in), publish(ctx, c, "restarted", nil, "before"), in.wants("before")); err != nil {
		return err
	}
	fmt.Println("RESTART")
	if answer, err := bufio.NewReader(os.Stdin).ReadString('\n'); answer != "ready\n" {
		return fmt.Errorf("the server did not start again: %q, %v", answer, err)
	}
	return errors.Join(publish(ctx, c, "restarted", nil, "after"), in.wants("before", "after"))
}
