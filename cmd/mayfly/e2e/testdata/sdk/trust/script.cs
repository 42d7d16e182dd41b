// A message by AMQP with TLS, and the queues by HTTPS.
using Azure.Messaging.ServiceBus;
using Azure.Messaging.ServiceBus.Administration;

var connection = Environment.GetEnvironmentVariable("SERVICEBUS");
await using var client = new ServiceBusClient(connection);
await client.CreateSender("orders").SendMessageAsync(new ServiceBusMessage("hello"));
Console.WriteLine((await client.CreateReceiver("orders").ReceiveMessageAsync()).Body);
await foreach (var queue in new ServiceBusAdministrationClient(connection).GetQueuesAsync()) Console.WriteLine(queue.Name);
