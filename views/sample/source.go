package sample

const goSource = ordersSource + `
{{define "accept"}}client.AcceptSessionFor{{if .Queue}}Queue{{else}}Subscription{{end}}(ctx, {{template "place" .}}, {{q .Session}}, nil){{end}}

{{define "program"}}package main

import (
	"context"
{{- if or .Sends .Receives}}
	"fmt"
{{- end}}
	"log"
{{- if not .Connection}}
	"os"
{{- end}}

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
{{- if .Connection}}
	connection := {{q .Connection}}
{{- end}}
	client := must(azservicebus.NewClientFromConnectionString({{if .Connection}}connection{{else}}os.Getenv("SERVICEBUS"){{end}}, nil))
{{- if .Sends}}
{{- if .InSession}}
	session := {{q .Session}}
{{- end}}
	sent := must(client.NewSender({{template "target" .}}, nil)).SendMessage(ctx, &azservicebus.Message{Body: []byte("hello from Go"){{if .InSession}}, SessionID: &session{{end}}}, nil)
{{- if not .Receives}}
	fmt.Println(sent) // <nil>: no error
{{- end}}
{{- end}}
{{- if .Receives}}
	receiver := must({{if .InSession}}{{template "accept" .}}{{else}}client.NewReceiverFor{{if .Queue}}Queue{{else}}Subscription{{end}}({{template "place" .}}, nil){{end}})
	for _, m := range must(receiver.ReceiveMessages(ctx, 1, nil)) {
{{- if .Sends}}
		fmt.Println(string(m.Body), sent, receiver.CompleteMessage(ctx, m, nil)) // twice <nil>: no errors
{{- else}}
		fmt.Println(string(m.Body), receiver.CompleteMessage(ctx, m, nil)) // <nil>: no error
{{- end}}
	}
{{- end}}
}{{end}}`

const pythonSource = ordersSource + `
{{define "accept"}}client.get_{{if .Queue}}queue{{else}}subscription{{end}}_receiver({{template "place" .}}, session_id={{q .Session}}){{end}}

{{define "program"}}{{if not .Connection}}import os
{{end}}from azure.servicebus import ServiceBusClient{{if .Sends}}, ServiceBusMessage{{end}}

{{if .Connection}}connection = {{q .Connection}}
{{end}}with ServiceBusClient.from_connection_string({{if .Connection}}connection{{else}}os.environ["SERVICEBUS"]{{end}}) as client:
{{- if .Sends}}
    client.get_{{if .Queue}}queue{{else}}topic{{end}}_sender({{template "target" .}}).send_messages(ServiceBusMessage("hello from Python"{{if .InSession}}, session_id={{q .Session}}{{end}}))
{{- end}}
{{- if .Receives}}
    receiver = {{if .InSession}}{{template "accept" .}}{{else}}client.get_{{if .Queue}}queue{{else}}subscription{{end}}_receiver({{template "place" .}}){{end}}
    for message in receiver.receive_messages(max_wait_time=10):
        print(message)
        receiver.complete_message(message)
{{- end}}{{end}}`

const javaScriptSource = ordersSource + `
{{define "accept"}}await client.acceptSession({{template "place" .}}, {{q .Session}}){{end}}

{{define "program"}}import { ServiceBusClient } from "@azure/service-bus";

{{if .Connection}}const connection = {{q .Connection}};
{{end}}const client = new ServiceBusClient({{if .Connection}}connection{{else}}process.env.SERVICEBUS{{end}});
{{- if .Sends}}
await client.createSender({{template "target" .}}).sendMessages({ body: "hello from JavaScript"{{if .InSession}}, sessionId: {{q .Session}}{{end}} });
{{- end}}
{{- if .Receives}}
const receiver = {{if .InSession}}{{template "accept" .}}{{else}}client.createReceiver({{template "place" .}}){{end}};
for (const message of await receiver.receiveMessages(1)) {
  console.log("%s", message.body); // bytes, if another SDK sent it
  await receiver.completeMessage(message);
}
{{- end}}
await client.close();{{end}}`

const javaSource = ordersSource + `
{{define "from"}}{{if .Queue}}.queueName({{q .Queue}}){{else}}.topicName({{q .Topic}}).subscriptionName({{q .Subscriber}}){{end}}{{end}}
{{define "accept"}}builder.sessionReceiver(){{template "from" .}}.buildClient().acceptSession({{q .Session}}){{end}}

{{define "program"}}import com.azure.messaging.servicebus.*;

public class Sample {
    public static void main(String[] args) {
{{- if .Connection}}
        var connection = {{q .Connection}};{{end}}
        var builder = new ServiceBusClientBuilder().connectionString({{if .Connection}}connection{{else}}System.getenv("SERVICEBUS"){{end}});
        try (
{{- if .Sends}}var sender = builder.sender().{{if .Queue}}queueName{{else}}topicName{{end}}({{template "target" .}}).buildClient()
{{- if .Receives}};
             {{end}}
{{- end}}
{{- if .Receives}}
{{- if .InSession}}var sessions = builder.sessionReceiver(){{template "from" .}}.buildClient();
             var receiver = sessions.acceptSession({{q .Session}})
{{- else}}var receiver = builder.receiver(){{template "from" .}}.buildClient()
{{- end}}
{{- end}}) {
{{- if .Sends}}
            sender.sendMessage(new ServiceBusMessage("hello from Java"){{if .InSession}}.setSessionId({{q .Session}}){{end}});
{{- end}}
{{- if .Receives}}
            for (var message : receiver.receiveMessages(1)) {
                System.out.println(message.getBody());
                receiver.complete(message);
            }
{{- end}}
        }
    }
}{{end}}`

const dotNETSource = ordersSource + `
{{define "accept"}}await client.AcceptSessionAsync({{template "place" .}}, {{q .Session}}){{end}}

{{define "program"}}using Azure.Messaging.ServiceBus;

{{if .Connection}}var connection = {{q .Connection}};
{{end}}await using var client = new ServiceBusClient({{if .Connection}}connection{{else}}Environment.GetEnvironmentVariable("SERVICEBUS"){{end}});
{{- if .Sends}}
await client.CreateSender({{template "target" .}}).SendMessageAsync(new ServiceBusMessage("hello from .NET"){{if .InSession}} { SessionId = {{q .Session}} }{{end}});
{{- end}}
{{- if .Receives}}
var receiver = {{if .InSession}}{{template "accept" .}}{{else}}client.CreateReceiver({{template "place" .}}){{end}};
var message = await receiver.ReceiveMessageAsync();
Console.WriteLine(message.Body);
await receiver.CompleteMessageAsync(message);
{{- end}}{{end}}`
