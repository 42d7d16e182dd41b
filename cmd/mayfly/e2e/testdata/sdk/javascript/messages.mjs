// Messages out and back in: sends, batches, schedules, bodies, properties, time to live.

import { bodies, equal, premium, standard, take, test, until } from "./harness.mjs";

const deletes = { receiveMode: "receiveAndDelete" };

test("send_and_receive_and_delete", async () => {
  const q = await standard.queue("js-send");
  await standard.with(async (c) => {
    const s = c.createSender(q);
    await s.sendMessages({ body: "one" });
    await s.sendMessages([{ body: "two" }, { body: "three" }]);
    const r = c.createReceiver(q, deletes);
    const got = await take(r, 3);
    equal(bodies(got), ["one", "two", "three"]);
    equal(got.map((m) => m.sequenceNumber.toNumber()), [1, 2, 3]);
    equal(got[0].deliveryCount, 0);
    equal(got[0].lockToken, undefined);
    equal(await r.peekMessages(1), []);
  });
});

test("send_batch", async () => {
  const q = await standard.queue("js-batch");
  await standard.with(async (c) => {
    const s = c.createSender(q);
    const batch = await s.createMessageBatch();
    equal(batch.maxSizeInBytes, 262144); // sdk-demands 26
    let n = 0;
    while (batch.tryAddMessage({ body: Buffer.alloc(10_000, n), applicationProperties: { n } })) n++;
    equal(n > 20, true);
    await s.sendMessages(batch);
    const r = c.createReceiver(q);
    const got = await take(r, n);
    equal(got.map((m) => m.applicationProperties.n), [...Array(n).keys()]);
    equal(got[7].body, Buffer.alloc(10_000, 7));
    for (const m of got) await r.completeMessage(m);
  });
});

test("schedule_and_cancel", async () => {
  const q = await standard.queue("js-schedule");
  await standard.with(async (c) => {
    const s = c.createSender(q);
    const r = c.createReceiver(q);
    const later = new Date(Date.now() + 3600_000);
    const far = await s.scheduleMessages([{ body: "a" }, { body: "b" }], later);
    equal(far.length, 2);
    const peeked = await r.peekMessages(10);
    equal(peeked.map((m) => [m.body, m.state]), [["a", "scheduled"], ["b", "scheduled"]]);
    equal(peeked[0].scheduledEnqueueTimeUtc, later);
    await s.cancelScheduledMessages(far);
    await s.scheduleMessages({ body: "soon" }, new Date(Date.now() + 300));
    await s.sendMessages({ body: "by property", scheduledEnqueueTimeUtc: new Date(Date.now() + 300) });
    equal(bodies(await take(r, 2)).sort(), ["by property", "soon"]);
  });
});

test("every_body", async () => {
  const q = await standard.queue("js-bodies");
  const sent = [
    { body: "text" }, { body: { a: [1, null, "x"], b: true } }, { body: 5 }, { body: null }, { body: Buffer.from([0, 255]) },
    { bodyType: "value", body: "as value" }, { bodyType: "value", body: { k: 1, l: ["m"] } }, { bodyType: "value", body: 7 },
    { bodyType: "value", body: null }, { bodyType: "value", body: true }, { bodyType: "sequence", body: [1, "two", [3]] },
  ];
  await standard.with(async (c) => {
    const s = c.createSender(q);
    await s.sendMessages(sent[0]);
    await s.sendMessages(sent.slice(1));
    const r = c.createReceiver(q);
    const got = await take(r, sent.length);
    for (let i = 0; i < sent.length; i++) {
      const raw = got[i]._rawAmqpMessage;
      equal([raw.bodyType, got[i].body], [sent[i].bodyType ?? "data", sent[i].body]);
      await r.completeMessage(got[i]);
    }
  });
});

test("every_property", async () => {
  const q = await standard.queue("js-properties");
  const applicationProperties = {
    text: "ä€", empty: "", yes: true, no: false, small: 5, negative: -5, fraction: 1.25, large: 2 ** 40, null: null,
    time: new Date("2026-01-02T03:04:05.678Z"),
  };
  const m = {
    body: "body", applicationProperties, messageId: "id", correlationId: "cid", contentType: "text/plain", subject: "subject",
    replyTo: "rt", to: "to", partitionKey: "pk", timeToLive: 300_000, replyToSessionId: "rts",
  };
  await standard.with(async (c) => {
    const s = c.createSender(q);
    const r = c.createReceiver(q);
    await s.sendMessages(m);
    for (let trip = 0; trip < 2; trip++) { // sdk-demands 24
      const [got] = await take(r, 1);
      const want = { ...m, applicationProperties: { ...applicationProperties, time: applicationProperties.time.getTime() } };
      for (const name of Object.keys(m)) equal([name, got[name]], [name, want[name]]); // the SDK reads times as numbers
      equal(got.expiresAtUtc - got.enqueuedTimeUtc, 300_000);
      equal([got.state, got.deliveryCount, got.deadLetterReason], ["active", 0, undefined]);
      equal(typeof got.lockToken, "string");
      await r.completeMessage(got);
      if (trip === 0) await s.sendMessages({ ...m, ...Object.fromEntries(Object.keys(m).map((k) => [k, got[k]])) });
    }
  });
});

test("raw_message", async () => {
  const q = await standard.queue("js-raw");
  await standard.with(async (c) => {
    const s = c.createSender(q);
    await s.sendMessages({
      body: "raw", bodyType: "data", header: { priority: 7, durable: true, firstAcquirer: true, timeToLive: 60_000 },
      properties: { messageId: "mid", contentEncoding: "gzip", groupId: "g", groupSequence: 3, creationTime: 1_700_000_000_000 },
      messageAnnotations: { "x-mine": 1 }, deliveryAnnotations: { d: "e" }, footer: { f: "g" }, applicationProperties: { p: "v" },
    });
    const r = c.createReceiver(q);
    const [m] = await take(r, 1);
    const raw = m._rawAmqpMessage;
    equal([raw.header.priority, raw.header.durable], [7, true]);
    equal([raw.properties.contentEncoding, raw.properties.groupSequence], ["gzip", 3]);
    equal(raw.footer, { f: "g" });
    equal(raw.deliveryAnnotations.d, "e");
    equal(Object.keys(raw.messageAnnotations).sort(), ["x-mine", "x-opt-enqueued-time", "x-opt-locked-until", "x-opt-sequence-number"]);
    await r.completeMessage(m);
  });
});

test("expiry_into_the_dead_letters", async () => {
  const q = await standard.queue("js-ttl", { DeadLetteringOnMessageExpiration: true });
  await standard.with(async (c) => {
    await c.createSender(q).sendMessages({ body: "brief", timeToLive: 200 });
    const dead = c.createReceiver(q, { subQueueType: "deadLetter" });
    const [m] = await take(dead, 1);
    equal([m.deadLetterReason, m.deadLetterErrorDescription], ["TTLExpiredException", "The message expired and was dead lettered."]);
    await dead.completeMessage(m);
  });
});

test("expiry_for_good", async () => {
  const q = await standard.queue("js-ttl-gone", { DefaultMessageTimeToLive: "PT0.2S" });
  await standard.with(async (c) => {
    await c.createSender(q).sendMessages({ body: "brief" });
    const r = c.createReceiver(q);
    await until(async () => (await r.peekMessages(1)).length === 0);
  });
});

test("duplicates_are_dropped", async () => {
  const q = await standard.queue("js-duplicates", { RequiresDuplicateDetection: true });
  await standard.with(async (c) => {
    const s = c.createSender(q);
    for (const id of ["a", "b", "a", "b", "c"]) await s.sendMessages({ body: id, messageId: id });
    await s.sendMessages(["c", "d", "d"].map((id) => ({ body: id, messageId: id })));
    equal(bodies(await c.createReceiver(q).peekMessages(20)), ["a", "b", "c", "d"]);
  });
});

test("large_message", async () => {
  const q = await premium.queue("js-large", { MaxMessageSizeInKilobytes: 102400 });
  const body = Buffer.alloc(10 << 20, "0123456789");
  await premium.with(async (c) => {
    await c.createSender(q).sendMessages({ body });
    const r = c.createReceiver(q);
    const [m] = await take(r, 1, 60_000);
    equal(body.equals(m.body), true);
    await r.completeMessage(m);
  });
});

test("many", async () => {
  const q = await standard.queue("js-many");
  await standard.with(async (c) => {
    const s = c.createSender(q);
    for (let i = 0; i < 3000; i += 1000) await s.sendMessages(Array.from({ length: 1000 }, (_, j) => ({ body: i + j })));
    const r = c.createReceiver(q, deletes);
    equal(bodies(await take(r, 3000)), [...Array(3000).keys()]);
  });
});

test("iterator_and_subscribe", async () => {
  const q = await standard.queue("js-streams");
  await standard.with(async (c) => {
    const s = c.createSender(q);
    await s.sendMessages(Array.from({ length: 40 }, (_, i) => ({ body: i })));
    const r = c.createReceiver(q);
    const seen = [];
    for await (const m of r.getMessageIterator()) {
      seen.push(m.body);
      await r.completeMessage(m);
      if (seen.length === 20) break;
    }
    await r.close();
    const stream = c.createReceiver(q);
    const over = stream.subscribe(
      { processMessage: async (m) => { seen.push(m.body); }, processError: async (e) => { throw e.error; } },
      { maxConcurrentCalls: 5, autoCompleteMessages: true },
    );
    await until(() => seen.length === 40);
    await over.close();
    equal(seen.sort((a, b) => a - b), [...Array(40).keys()]);
    await until(async () => (await stream.peekMessages(1, { fromSequenceNumber: undefined })).length === 0);
  });
});

test("close_with_messages_in_flight", async () => {
  const q = await standard.queue("js-in-flight", { LockDuration: "PT5M" });
  await standard.with(async (c) => {
    await c.createSender(q).sendMessages(Array.from({ length: 2000 }, (_, i) => ({ body: i })));
    const r = c.createReceiver(q);
    const waiting = r.receiveMessages(1000, { maxWaitTimeInMs: 20_000 });
    await r.close();
    const had = await waiting.catch(() => []);
    const other = c.createReceiver(q, deletes);
    // Nothing is lost: what the first was given is locked, all else can be had.
    const rest = await take(other, 1000);
    equal(new Set([...bodies(had), ...bodies(rest)]).size, had.length + rest.length);
  });
});
