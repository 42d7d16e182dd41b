// @azure/service-bus 1.1.10, which knows clients of one entity: always TLS, always
// port 5671.

import sb from "@azure/service-bus";
import { connectionString, counts, equal, queue, raises, run, sleep, test, topic, until } from "./harness.mjs";

const { ReceiveMode, ServiceBusClient } = sb;
const { peekLock, receiveAndDelete } = ReceiveMode;

/** Runs f with a namespace's client, which is closed afterwards. */
async function using(f) {
  const client = ServiceBusClient.createFromConnectionString(connectionString);
  try {
    await f(client);
  } finally {
    await client.close();
  }
}

/** Receives until there are n messages. */
async function take(receiver, n) {
  const got = [];
  while (got.length < n) {
    const some = await receiver.receiveMessages(n - got.length, 15);
    if (!some.length) throw new Error(`${got.length} of ${n} messages came`);
    got.push(...some);
  }
  return got;
}

const bodies = (messages) => messages.map((m) => m.body);

test("a message keeps what it has", () =>
  using(async (client) => {
    const q = client.createQueueClient(await queue("keeps"));
    await q.createSender().send({
      body: { n: 1, list: ["a", null, true] },
      label: "label",
      messageId: "id",
      correlationId: "correlation",
      contentType: "application/json",
      replyTo: "answers",
      to: "somewhere",
      timeToLive: 60_000,
      userProperties: { n: 1, text: "x", yes: true },
    });
    const [m] = await take(q.createReceiver(peekLock), 1);
    equal(m.body, { n: 1, list: ["a", null, true] });
    equal(
      [m.label, m.messageId, m.correlationId, m.contentType, m.replyTo, m.to, m.timeToLive, m.deliveryCount],
      ["label", "id", "correlation", "application/json", "answers", "somewhere", 60_000, 0],
    );
    equal(m.userProperties, { n: 1, text: "x", yes: true });
    equal(m.sequenceNumber.toNumber(), 1);
    equal(m.expiresAtUtc - m.enqueuedTimeUtc, 60_000);
    await m.complete();
    equal(await counts("keeps"), {});
  }));

test("batches stay in order", () =>
  using(async (client) => {
    const q = client.createQueueClient(await queue("order"));
    const sender = q.createSender();
    for (let i = 0; i < 5; i++) await sender.send({ body: i });
    await sender.sendBatch(Array.from({ length: 20 }, (_, i) => ({ body: i + 5 })));
    const got = await take(q.createReceiver(peekLock), 25);
    equal(
      bodies(got),
      Array.from({ length: 25 }, (_, i) => i),
    );
    for (const m of got) await m.complete();
    equal(await counts("order"), {});
  }));

test("an empty queue gives nothing", () =>
  using(async (client) => {
    const receiver = client.createQueueClient(await queue("nothing")).createReceiver(peekLock);
    equal(await receiver.receiveMessages(10, 1), []);
  }));

test("settling each way", () =>
  using(async (client) => {
    const q = client.createQueueClient(await queue("settling"));
    await q.createSender().send({ body: "m" });
    const receiver = q.createReceiver(peekLock);
    let [m] = await take(receiver, 1);
    await m.abandon({ tried: "yes" });
    [m] = await take(receiver, 1);
    equal([m.deliveryCount, m.userProperties.tried], [1, "yes"]);
    const before = m.lockedUntilUtc;
    await sleep(20);
    equal((await receiver.renewMessageLock(m)) > before, true);
    await m.defer();
    equal(await counts("settling"), { deferred: 1 });
    m = await receiver.receiveDeferredMessage(m.sequenceNumber);
    equal([m.body, m.deliveryCount], ["m", 2]);
    await m.deadLetter({ deadletterReason: "why", deadLetterErrorDescription: "because" });
    const dead = client.createQueueClient("settling/$DeadLetterQueue").createReceiver(peekLock);
    [m] = await take(dead, 1);
    equal([m.body, m.userProperties.DeadLetterReason, m.userProperties.DeadLetterErrorDescription], ["m", "why", "because"]);
    await m.complete();
    equal(await counts("settling"), {});
  }));

test("the last delivery ends in the dead-letter queue", () =>
  using(async (client) => {
    const q = client.createQueueClient(await queue("last", { MaxDeliveryCount: 2 }));
    await q.createSender().send({ body: "poison" });
    const receiver = q.createReceiver(peekLock);
    for (let i = 0; i < 2; i++) {
      const [m] = await take(receiver, 1);
      equal(m.deliveryCount, i);
      await m.abandon();
    }
    const [m] = await take(client.createQueueClient("last/$DeadLetterQueue").createReceiver(peekLock), 1);
    equal([m.body, m.userProperties.DeadLetterReason], ["poison", "MaxDeliveryCountExceeded"]);
  }));

test("an expired message is dead-lettered", () =>
  using(async (client) => {
    const q = client.createQueueClient(await queue("expired", { DeadLetteringOnMessageExpiration: true }));
    await q.createSender().send({ body: "short", timeToLive: 200 });
    const [m] = await take(client.createQueueClient("expired/$DeadLetterQueue").createReceiver(peekLock), 1);
    equal([m.body, m.userProperties.DeadLetterReason], ["short", "TTLExpiredException"]);
  }));

test("a lost lock", () =>
  using(async (client) => {
    const q = client.createQueueClient(await queue("lost", { LockDuration: "PT1S" }));
    await q.createSender().send({ body: "m" });
    const receiver = q.createReceiver(peekLock);
    let [m] = await take(receiver, 1);
    await sleep(1300);
    await raises("MessageLockLostError", () => m.complete());
    [m] = await take(receiver, 1);
    equal([m.body, m.deliveryCount], ["m", 1]);
  }));

test("schedules are kept and cancelled", () =>
  using(async (client) => {
    const q = client.createQueueClient(await queue("schedules"));
    const sender = q.createSender();
    const cancelled = await sender.scheduleMessages(new Date(Date.now() + 3_600_000), [{ body: "no" }, { body: "never" }]);
    const at = new Date(Date.now() + 1500);
    await sender.scheduleMessage(at, { body: "kept" });
    equal(await counts("schedules"), { scheduled: 3 });
    equal(bodies(await q.peek(5)), ["no", "never", "kept"]);
    await sender.cancelScheduledMessage(cancelled[0]);
    await sender.cancelScheduledMessages([cancelled[1]]);
    const [m] = await take(q.createReceiver(peekLock), 1);
    equal([m.body, m.enqueuedTimeUtc >= at], ["kept", true]);
    await m.complete();
    equal(await counts("schedules"), {});
  }));

test("peeking goes on, and starts at a number", () =>
  using(async (client) => {
    const q = client.createQueueClient(await queue("peeking"));
    await q.createSender().sendBatch([0, 1, 2, 3, 4].map((body) => ({ body })));
    const first = await q.peek(2);
    equal(bodies(first), [0, 1]);
    equal(bodies(await q.peek(9)), [2, 3, 4]);
    equal(bodies(await q.peekBySequenceNumber(first[1].sequenceNumber, 2)), [1, 2]);
    equal(await counts("peeking"), { active: 5 });
  }));

test("receive and delete", () =>
  using(async (client) => {
    const q = client.createQueueClient(await queue("deletes"));
    await q.createSender().sendBatch([0, 1, 2].map((body) => ({ body })));
    equal(bodies(await take(q.createReceiver(receiveAndDelete), 3)), [0, 1, 2]);
    equal(await counts("deletes"), {});
  }));

test("a handler completes by itself", () =>
  using(async (client) => {
    const q = client.createQueueClient(await queue("handler"));
    await q.createSender().sendBatch([0, 1, 2].map((body) => ({ body })));
    const got = [];
    const failed = [];
    const receiver = q.createReceiver(peekLock);
    receiver.registerMessageHandler(
      async (m) => void got.push(m.body),
      (e) => failed.push(e.message),
    );
    await until(async () => got.length === 3 && Object.keys(await counts("handler")).length === 0);
    equal([got, failed], [[0, 1, 2], []]);
    await receiver.close();
  }));

test("a session has order, state and a lock", () =>
  using(async (client) => {
    const q = client.createQueueClient(await queue("session", { RequiresSession: true }));
    const sender = q.createSender();
    for (const sessionId of ["a", "b"]) {
      for (let i = 0; i < 3; i++) await sender.send({ body: sessionId + i, sessionId });
    }
    const a = q.createReceiver(peekLock, { sessionId: "a" });
    const got = await take(a, 3);
    equal(
      got.map((m) => [m.sessionId, m.body]),
      [0, 1, 2].map((i) => ["a", "a" + i]),
    );
    await a.setState({ step: 1 });
    equal(await a.getState(), { step: 1 });
    const before = a.sessionLockedUntilUtc;
    await sleep(20);
    equal((await a.renewSessionLock()) > before, true);
    const next = q.createReceiver(peekLock, { sessionId: undefined });
    equal(bodies(await take(next, 3)), ["b0", "b1", "b2"]);
    equal(next.sessionId, "b");
    for (const m of got) await m.complete();
    await a.close();
    const again = q.createReceiver(peekLock, { sessionId: "a" });
    equal(bodies(await again.peek(5)), []);
    equal(await again.getState(), { step: 1 });
  }));

test("rules decide what a subscription gets", () =>
  using(async (client) => {
    const t = await topic("rules", "s");
    const s = client.createSubscriptionClient(t, "s");
    await s.addRule("sql", "n > 3", "SET sys.label = 'set'");
    await s.addRule("correlation", { label: "one" });
    await s.removeRule(s.defaultRuleName);
    const rules = (await s.getRules()).sort((a, b) => a.name.localeCompare(b.name));
    equal(
      rules.map((r) => [r.name, r.filter.label || r.filter, r.action || ""]),
      [
        ["correlation", "one", ""],
        ["sql", "n > 3", "SET sys.label = 'set'"],
      ],
    );
    const sender = client.createTopicClient(t).createSender();
    for (const [n, label] of [
      [1, "one"],
      [2, "two"],
      [5, "five"],
    ]) {
      await sender.send({ body: n, label, userProperties: { n } });
    }
    const got = await take(s.createReceiver(peekLock), 2);
    equal(
      got.map((m) => [m.body, m.label]),
      [
        [1, "one"],
        [5, "set"],
      ],
    );
  }));

test("large messages", () =>
  using(async (client) => {
    const q = client.createQueueClient(await queue("large"));
    const sender = q.createSender();
    await sender.send({ body: Buffer.alloc(200_000, 7) });
    const [m] = await take(q.createReceiver(peekLock), 1);
    equal(Buffer.compare(m.body, Buffer.alloc(200_000, 7)), 0);
    await raises("MessageTooLargeError", () => sender.send({ body: Buffer.alloc(400_000) }));
  }));

test("a queue that does not exist", () =>
  using(async (client) => {
    await raises("MessagingEntityNotFoundError", () => client.createQueueClient("nowhere").createSender().send({ body: "m" }));
  }));

await run(process.argv.slice(2));
