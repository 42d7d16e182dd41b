// Command trust sends and receives a message by AMQP with TLS, and lists the queues by HTTPS.
package main

import (
	"context"
	"fmt"
	"log"
	"os"

	"github.com/Azure/azure-sdk-for-go/sdk/messaging/azservicebus"
	"github.com/Azure/azure-sdk-for-go/sdk/messaging/azservicebus/admin"
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
	if err := must(client.NewSender("orders", nil)).SendMessage(ctx, &azservicebus.Message{Body: []byte("hello")}, nil); err != nil {
		log.Fatal(err)
	}
	for _, m := range must(must(client.NewReceiverForQueue("orders", nil)).ReceiveMessages(ctx, 1, nil)) {
		fmt.Println(string(m.Body))
	}
	queues := must(admin.NewClientFromConnectionString(os.Getenv("SERVICEBUS"), nil)).NewListQueuesPager(nil)
	for queues.More() {
		for _, q := range must(queues.NextPage(ctx)).Queues {
			fmt.Println(q.QueueName)
		}
	}
}
