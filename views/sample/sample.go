// Package sample is how a program talks to the broker, in each language that
// Service Bus has an SDK for: it sends a message to a queue and receives it. The
// scripts are those of the README, which are run as they stand there.
package sample

import (
	"strconv"
	"strings"
)

// A Sample is a program in one language.
type Sample struct {
	Language string // as people call it
	Code     string
}

// Scripts are the programs with the queue orders, which find the connection
// string in the environment.
func Scripts() []Sample {
	return []Sample{{"Go", goCode}, {"Python", pythonCode}, {"JavaScript", javaScriptCode}, {"Java", javaCode}, {".NET", dotNETCode}}
}

// All are the programs for a connection string, which stands in them, and a
// queue.
func All(connection, queue string) []Sample {
	text := strconv.Quote(connection)
	fill := strings.NewReplacer(
		`os.Getenv("SERVICEBUS")`, text, `os.environ["SERVICEBUS"]`, text, `process.env.SERVICEBUS`, text, `System.getenv("SERVICEBUS")`, text,
		`Environment.GetEnvironmentVariable("SERVICEBUS")`, text, `"orders"`, strconv.Quote(queue), "\t\"os\"\n", "", "import os\n", "",
	)
	out := Scripts()
	for i := range out {
		out[i].Code = fill.Replace(out[i].Code)
	}
	return out
}

const goCode = `package main

import (
	"context"
	"fmt"
	"log"
	"os"

	"github.com/Azure/azure-sdk-for-go/sdk/messaging/azservicebus"
)

func must[T any](v T, err error) T {
	if err != nil {
		log.Fatal(err)
	}
	return v
}

func main() {
	ctx := context.Background()
	client := must(azservicebus.NewClientFromConnectionString(os.Getenv("SERVICEBUS"), nil))
	sent := must(client.NewSender("orders", nil)).SendMessage(ctx, &azservicebus.Message{Body: []byte("hello from Go")}, nil)
	receiver := must(client.NewReceiverForQueue("orders", nil))
	for _, m := range must(receiver.ReceiveMessages(ctx, 1, nil)) {
		fmt.Println(string(m.Body), sent, receiver.CompleteMessage(ctx, m, nil)) // twice <nil>: no errors
	}
}`

const pythonCode = `import os
from azure.servicebus import ServiceBusClient, ServiceBusMessage

with ServiceBusClient.from_connection_string(os.environ["SERVICEBUS"]) as client:
    client.get_queue_sender("orders").send_messages(ServiceBusMessage("hello from Python"))
    receiver = client.get_queue_receiver("orders")
    for message in receiver.receive_messages(max_wait_time=10):
        print(message)
        receiver.complete_message(message)`

const javaScriptCode = `import { ServiceBusClient } from "@azure/service-bus";

const client = new ServiceBusClient(process.env.SERVICEBUS);
await client.createSender("orders").sendMessages({ body: "hello from JavaScript" });
const receiver = client.createReceiver("orders");
for (const message of await receiver.receiveMessages(1)) {
  console.log(message.body);
  await receiver.completeMessage(message);
}
await client.close();`

const javaCode = `import com.azure.messaging.servicebus.*;

public class Sample {
    public static void main(String[] args) {
        var builder = new ServiceBusClientBuilder().connectionString(System.getenv("SERVICEBUS"));
        try (var sender = builder.sender().queueName("orders").buildClient();
             var receiver = builder.receiver().queueName("orders").buildClient()) {
            sender.sendMessage(new ServiceBusMessage("hello from Java"));
            for (var message : receiver.receiveMessages(1)) {
                System.out.println(message.getBody());
                receiver.complete(message);
            }
        }
    }
}`

const dotNETCode = `using Azure.Messaging.ServiceBus;

await using var client = new ServiceBusClient(Environment.GetEnvironmentVariable("SERVICEBUS"));
await client.CreateSender("orders").SendMessageAsync(new ServiceBusMessage("hello from .NET"));
var receiver = client.CreateReceiver("orders");
var message = await receiver.ReceiveMessageAsync();
Console.WriteLine(message.Body);
await receiver.CompleteMessageAsync(message);`
