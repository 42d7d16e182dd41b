// What a receiver does with what it has: settle, renew, defer, peek.

import Long from "long";
import { bodies, equal, raises, restart, standard, take, test, testAlone, until } from "./harness.mjs";

/** Runs f with a client, a queue that has messages, and a receiver. */
async function queue(name, texts, f, properties) {
  const q = await standard.queue(name, properties);
  await standard.with(async (c) => {
    if (texts.length > 0) await c.createSender(q).sendMessages(texts.map((body) => ({ body })));
    await f(c, q, c.createReceiver(q));
  });
}

test("complete", () =>
  queue("js-complete", ["a", "b"], async (c, q, r) => {
    const [a, b] = await take(r, 2);
    equal(a.lockToken.length, 36);
    await r.completeMessage(a);
    await r.completeMessage(b);
    equal(await r.peekMessages(1, { fromSequenceNumber: Long.ONE }), []);
  }));

test("abandon_with_properties", () =>
  queue("js-abandon", ["a"], async (c, q, r) => {
    let [a] = await take(r, 1);
    await r.abandonMessage(a, { tried: "once" });
    [a] = await take(r, 1);
    equal([a.deliveryCount, a.applicationProperties], [1, { tried: "once" }]);
    await r.completeMessage(a);
  }));

test("too_many_tries", () =>
  queue("js-tries", ["a"], async (c, q, r) => {
    for (let i = 0; i < 2; i++) await r.abandonMessage((await take(r, 1))[0]);
    const dead = c.createReceiver(q, { subQueueType: "deadLetter" });
    const [m] = await take(dead, 1);
    equal([m.deadLetterReason, m.deliveryCount], ["MaxDeliveryCountExceeded", 2]);
  }, { MaxDeliveryCount: 2 }));

test("dead_letter", () =>
  queue("js-dead", ["a", "b"], async (c, q, r) => {
    const [a, b] = await take(r, 2);
    await r.deadLetterMessage(a, { deadLetterReason: "why", deadLetterErrorDescription: "because", more: 5 });
    await r.deadLetterMessage(b);
    const dead = c.createReceiver(q, { subQueueType: "deadLetter" });
    const got = await take(dead, 2);
    equal(got.map((m) => [m.body, m.deadLetterReason, m.deadLetterErrorDescription]), [["a", "why", "because"], ["b", null, null]]);
    equal(got[0].applicationProperties.more, 5);
    await dead.deferMessage(got[0]);
    const [again] = await dead.receiveDeferredMessages(got[0].sequenceNumber);
    await dead.completeMessage(again);
    await dead.completeMessage(got[1]);
  }));

test("defer", () =>
  queue("js-defer", ["a", "b", "c", "d"], async (c, q, r) => {
    const got = await take(r, 4);
    for (const m of got) await r.deferMessage(m, { aside: true });
    equal((await r.peekMessages(9, { fromSequenceNumber: Long.ONE })).map((m) => m.state), ["deferred", "deferred", "deferred", "deferred"]);
    const numbers = got.map((m) => m.sequenceNumber);
    const back = await r.receiveDeferredMessages(numbers);
    equal(back.map((m) => [m.body, m.applicationProperties.aside, m.state]), ["a", "b", "c", "d"].map((x) => [x, true, "deferred"]));
    await r.completeMessage(back[0]);
    await r.abandonMessage(back[1], { tried: 1 });
    await r.deadLetterMessage(back[2], { deadLetterReason: "r", deadLetterErrorDescription: "d" });
    await r.renewMessageLock(back[3]);
    await r.deferMessage(back[3]);
    const [b] = await r.receiveDeferredMessages(numbers[1]);
    equal(b.applicationProperties, { aside: true, tried: 1 });
    await r.completeMessage(b);
    await raises("MessageNotFound", () => r.receiveDeferredMessages(numbers.slice(0, 2)));
    const gone = c.createReceiver(q, { receiveMode: "receiveAndDelete" });
    equal(bodies(await gone.receiveDeferredMessages([numbers[3]])), ["d"]);
    const [dead] = await take(c.createReceiver(q, { subQueueType: "deadLetter" }), 1);
    equal(dead.deadLetterReason, "r");
    equal(await r.peekMessages(1, { fromSequenceNumber: Long.ONE }), []);
  }));

test("peek", () =>
  queue("js-peek", [...Array(30).keys()], async (c, q, r) => {
    equal(bodies(await r.peekMessages(5)), [0, 1, 2, 3, 4]);
    equal(bodies(await r.peekMessages(2)), [5, 6]);
    equal(bodies(await r.peekMessages(2, { fromSequenceNumber: Long.fromNumber(21) })), [20, 21]);
    equal((await r.peekMessages(1000, { fromSequenceNumber: Long.ONE })).length, 30);
    equal(await r.peekMessages(1, { fromSequenceNumber: Long.fromNumber(31) }), []);
    const [m] = await r.peekMessages(1, { fromSequenceNumber: Long.ONE });
    equal([m.lockToken, m.lockedUntilUtc, m.deliveryCount], [undefined, undefined, 0]);
    const [light] = await r.peekMessages(1, { fromSequenceNumber: Long.ONE, omitMessageBody: true });
    equal(light.sequenceNumber.toNumber(), 1);
  }));

test("renew_lock", () =>
  queue("js-renew", ["a"], async (c, q, r) => {
    const [a] = await take(r, 1);
    const first = a.lockedUntilUtc;
    await until(async () => (await r.renewMessageLock(a)) > first);
    equal(a.lockedUntilUtc > first, true);
    await r.completeMessage(a);
  }, { LockDuration: "PT30S" }));

test("lock_lost", () =>
  queue("js-lost", ["a"], async (c, q, r) => {
    const [a] = await take(c.createReceiver(q, { maxAutoLockRenewalDurationInMs: 0 }), 1);
    const other = c.createReceiver(q, { receiveMode: "receiveAndDelete" });
    const [again] = await take(other, 1);
    equal(again.deliveryCount, 1);
    const lost = await raises("MessageLockLost", () => r.completeMessage(a));
    equal(lost.retryable, false);
    await raises("MessageLockLost", () => r.renewMessageLock(a));
  }, { LockDuration: "PT0.3S" }));

test("locks_outlive_links", () =>
  queue("js-outlive", ["a", "b"], async (c, q, r) => {
    const [a, b] = await take(r, 2);
    await r.close();
    const other = c.createReceiver(q);
    equal(await other.receiveMessages(1, { maxWaitTimeInMs: 300 }), []); // sdk-demands 3
    await other.completeMessage(a); // by $management
    await other.deadLetterMessage(b, { deadLetterReason: "late" });
    const [dead] = await take(c.createReceiver(q, { subQueueType: "deadLetter" }), 1);
    equal(dead.deadLetterReason, "late");
  }, { LockDuration: "PT1M" }));

test("sent_while_waiting", () =>
  queue("js-waiting", [], async (c, q, r) => {
    const waiting = r.receiveMessages(1, { maxWaitTimeInMs: 20_000 });
    await c.createSender(q).sendMessages({ body: "x" });
    equal(bodies(await waiting), ["x"]);
    equal(await r.receiveMessages(5, { maxWaitTimeInMs: 200 }), []);
    await c.createSender(q).sendMessages({ body: "y" });
    equal(bodies(await take(r, 1)), ["y"]);
  }));

testAlone("after_a_restart", async () => {
  const q = await standard.queue("js-restart", { LockDuration: "PT1M" });
  await standard.with(async (c) => {
    const s = c.createSender(q);
    const r = c.createReceiver(q);
    await s.sendMessages([{ body: "a" }, { body: "b" }]);
    await r.completeMessage((await take(r, 1))[0]);
    await restart();
    await s.sendMessages({ body: "c" });
    const got = await take(r, 2);
    equal(bodies(got), ["b", "c"]);
    for (const m of got) await r.completeMessage(m);
  }, 10);
});
