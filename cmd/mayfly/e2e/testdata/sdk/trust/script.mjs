// A message by AMQP with TLS, and the queues by HTTPS.
import { ServiceBusAdministrationClient, ServiceBusClient } from "@azure/service-bus";

const once = { retryOptions: { maxRetries: 0 } };
const client = new ServiceBusClient(process.env.SERVICEBUS, once);
await client.createSender("orders").sendMessages({ body: "hello" });
for (const message of await client.createReceiver("orders").receiveMessages(1)) console.log("%s", message.body);
await client.close();
for await (const queue of new ServiceBusAdministrationClient(process.env.SERVICEBUS, once).listQueues()) console.log(queue.name);
