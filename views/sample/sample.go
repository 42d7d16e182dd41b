// Package sample is how a program talks to the broker, in each language that
// Service Bus has an SDK for: a few lines that send a message to a queue and
// receive it. They run as they stand.
package sample

import "strings"

// A Sample is a program in one language.
type Sample struct {
	Language string // as people call it
	Code     string
}

// All are the samples, for a connection string and a queue's name.
func All(connection, queue string) []Sample {
	fill := strings.NewReplacer("$CONNECTION", connection, "$QUEUE", queue)
	out := []Sample{{"Go", goCode}, {"Python", pythonCode}, {"JavaScript", javaScriptCode}, {"Java", javaCode}, {".NET", dotNETCode}}
	for i := range out {
		out[i].Code = fill.Replace(out[i].Code)
	}
	return out
}

const goCode = `client, err := azservicebus.NewClientFromConnectionString("$CONNECTION", nil)
sender, err := client.NewSender("$QUEUE", nil)
err = sender.SendMessage(ctx, &azservicebus.Message{Body: []byte("hello")}, nil)
receiver, err := client.NewReceiverForQueue("$QUEUE", nil)
messages, err := receiver.ReceiveMessages(ctx, 1, nil)
err = receiver.CompleteMessage(ctx, messages[0], nil)`

const pythonCode = `from azure.servicebus import ServiceBusClient, ServiceBusMessage

with ServiceBusClient.from_connection_string("$CONNECTION") as client:
    client.get_queue_sender("$QUEUE").send_messages(ServiceBusMessage("hello"))
    receiver = client.get_queue_receiver("$QUEUE")
    for message in receiver.receive_messages(max_wait_time=5):
        print(message)
        receiver.complete_message(message)`

const javaScriptCode = `const { ServiceBusClient } = require("@azure/service-bus");

(async () => {
  const client = new ServiceBusClient("$CONNECTION");
  await client.createSender("$QUEUE").sendMessages({ body: "hello" });
  const receiver = client.createReceiver("$QUEUE");
  for (const message of await receiver.receiveMessages(1)) await receiver.completeMessage(message);
  await client.close();
})();`

const javaCode = `var builder = new ServiceBusClientBuilder().connectionString("$CONNECTION");
try (var sender = builder.sender().queueName("$QUEUE").buildClient();
     var receiver = builder.receiver().queueName("$QUEUE").buildClient()) {
    sender.sendMessage(new ServiceBusMessage("hello"));
    receiver.receiveMessages(1).forEach(receiver::complete);
}`

const dotNETCode = `await using var client = new ServiceBusClient("$CONNECTION");
await client.CreateSender("$QUEUE").SendMessageAsync(new ServiceBusMessage("hello"));
var receiver = client.CreateReceiver("$QUEUE");
var message = await receiver.ReceiveMessageAsync();
await receiver.CompleteMessageAsync(message);`
