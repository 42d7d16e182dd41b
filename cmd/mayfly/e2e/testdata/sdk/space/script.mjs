// What a client finds in the namespaces that the first label of its host names. The
// names lead to this machine, as systemd-resolved has it.
import dns from "node:dns";
import { ServiceBusClient } from "@azure/service-bus";

const lookup = dns.lookup;
dns.lookup = (host, ...more) => lookup(host.endsWith(".localhost") ? "127.0.0.1" : host, ...more);

const client = (name) =>
  new ServiceBusClient(process.env.SERVICEBUS.replace("sb://127.0.0.1", "sb://" + name), { retryOptions: { maxRetries: 0 } });

const shop = client("shop.localhost");
await shop.createSender("orders").sendMessages({ body: "theirs" });
await shop.close();
for (const name of ["till.localhost", "localhost", "SHOP.localhost"]) {
  const c = client(name);
  const receiver = c.createReceiver("orders");
  const got = await receiver.receiveMessages(1, { maxWaitTimeInMs: name === "SHOP.localhost" ? 3000 : 1000 });
  for (const m of got) await receiver.completeMessage(m);
  console.log(name, JSON.stringify(got.map((m) => m.body)));
  await c.close();
}
