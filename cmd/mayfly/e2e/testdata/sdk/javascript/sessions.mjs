// Sessions: accepted by name and next, kept, renewed, lost.

import { bodies, equal, raises, standard, take, test, until } from "./harness.mjs";

/** Runs f with a client and a queue that has two messages in each session. */
async function sessions(name, ids, f, properties) {
  const q = await standard.queue(name, { RequiresSession: true, ...properties });
  await standard.with(async (c) => {
    const all = ids.flatMap((sessionId) => [0, 1].map((n) => ({ body: `${sessionId}-${n}`, sessionId })));
    if (all.length > 0) await c.createSender(q).sendMessages(all);
    await f(c, q);
  });
}

test("named_session", () =>
  sessions("js-session", ["a", "b"], async (c, q) => {
    const r = await c.acceptSession(q, "b");
    equal(r.sessionId, "b");
    const got = await take(r, 2);
    equal(got.map((m) => [m.body, m.sessionId]), [["b-0", "b"], ["b-1", "b"]]);
    await r.completeMessage(got[0]);
    await r.abandonMessage(got[1]);
    const [again] = await take(r, 1);
    equal(again.deliveryCount, 1);
    await r.deadLetterMessage(again, { deadLetterReason: "x" });
    const [dead] = await take(c.createReceiver(q, { subQueueType: "deadLetter" }), 1);
    equal([dead.sessionId, dead.deadLetterReason], ["b", "x"]);
  }));

test("next_session", () =>
  sessions("js-session-next", ["a", "b"], async (c, q) => {
    const first = await c.acceptNextSession(q);
    const second = await c.acceptNextSession(q);
    equal([first.sessionId, second.sessionId], ["a", "b"]);
    equal(bodies(await take(second, 2)), ["b-0", "b-1"]);
    equal(bodies(await take(first, 2)), ["a-0", "a-1"]);
  }));

test("next_session_is_waited_for", () =>
  sessions("js-session-wait", [], async (c, q) => {
    const waiting = c.acceptNextSession(q);
    await c.createSender(q).sendMessages({ body: "x", sessionId: "late" });
    equal((await waiting).sessionId, "late");
  }));

test("no_session_in_time", () =>
  sessions("js-session-timeout", [], async (_, q) => {
    const { ServiceBusClient } = await import("@azure/service-bus");
    const c = new ServiceBusClient(standard.connectionString, { retryOptions: { maxRetries: 0, timeoutInMs: 1000 } });
    try {
      const e = await raises("ServiceTimeout", () => c.acceptNextSession(q));
      equal(e.retryable, true);
    } finally {
      await c.close();
    }
  }));

test("session_is_taken", () =>
  sessions("js-session-taken", ["a"], async (c, q) => {
    const r = await c.acceptSession(q, "a");
    await raises("SessionCannotBeLocked", () => c.acceptSession(q, "a"));
    await r.close();
    equal(bodies(await take(await c.acceptSession(q, "a"), 2)), ["a-0", "a-1"]);
  }));

// The SDK takes "" for no session id when it has accepted one.

test("session_state", () =>
  sessions("js-session-state", [], async (c, q) => {
    const r = await c.acceptSession(q, "s");
    equal(await r.getSessionState(), null);
    await r.setSessionState({ step: 3 });
    equal(await r.getSessionState(), { step: 3 });
    await r.setSessionState(null);
    equal(await r.getSessionState(), null);
  }));

test("sessions_outlive_updates", () =>
  sessions("js-session-updated", ["a"], async (c, q) => {
    const r = await c.acceptSession(q, "a");
    const [one, two] = await take(r, 2);
    await standard.change(q, { MaxDeliveryCount: 5, LockDuration: "PT30S" }); // sdk-demands 7
    equal(bodies(await r.peekMessages(5)), ["a-0", "a-1"]);
    await r.setSessionState("kept");
    await raises("SessionCannotBeLocked", () => c.acceptSession(q, "a"));
    await r.completeMessage(one);
    await r.abandonMessage(two);
    equal(bodies(await take(r, 1)), ["a-1"]);
  }));

test("session_renewed", () =>
  sessions("js-session-renew", [], async (c, q) => {
    const r = await c.acceptSession(q, "s", { maxAutoLockRenewalDurationInMs: 0 });
    const first = r.sessionLockedUntilUtc;
    equal(first > new Date(), true);
    await until(async () => (await r.renewSessionLock()) > first);
  }, { LockDuration: "PT20S" }));

test("session_renews_itself", () =>
  sessions("js-session-renews", ["a"], async (c, q) => {
    const r = await c.acceptSession(q, "a");
    const first = r.sessionLockedUntilUtc;
    const [m] = await take(r, 1);
    await until(() => r.sessionLockedUntilUtc > first);
    await r.completeMessage(m);
  }, { LockDuration: "PT3S" }));

test("session_lost", () =>
  sessions("js-session-lost", ["a"], async (c, q) => {
    const r = await c.acceptSession(q, "a", { maxAutoLockRenewalDurationInMs: 0 });
    const [m] = await take(r, 1);
    const other = await c.acceptNextSession(q);
    equal(other.sessionId, "a");
    await raises("SessionLockLost", () => r.completeMessage(m));
    await raises("SessionLockLost", () => r.getSessionState());
    await raises("SessionLockLost", () => r.renewSessionLock());
  }, { LockDuration: "PT0.3S" }));

test("deferred_in_a_session", () =>
  sessions("js-session-defer", ["a"], async (c, q) => {
    const r = await c.acceptSession(q, "a");
    const [one, two] = await take(r, 2);
    await r.deferMessage(one);
    await r.deferMessage(two);
    const got = await r.receiveDeferredMessages([one.sequenceNumber, two.sequenceNumber]);
    equal(bodies(got), ["a-0", "a-1"]);
    await r.completeMessage(got[0]);
    await r.abandonMessage(got[1]);
    await raises("MessageNotFound", () => r.receiveDeferredMessages(one.sequenceNumber));
    equal(bodies(await r.peekMessages(5)), ["a-1"]);
  }));

test("session_subscribe", () =>
  sessions("js-session-subscribe", ["a"], async (c, q) => {
    const r = await c.acceptNextSession(q);
    const seen = [];
    r.subscribe({ processMessage: async (m) => { seen.push(m.body); }, processError: async (e) => { throw e.error; } });
    await until(() => seen.length === 2);
    await c.createSender(q).sendMessages({ body: "a-2", sessionId: "a" });
    await until(() => seen.length === 3);
    equal(seen, ["a-0", "a-1", "a-2"]);
    await r.close();
  }));

test("sessions_and_plain_receivers", () =>
  sessions("js-session-plain", ["a"], async (c, q) => {
    const p = await standard.queue("js-session-none");
    const e = await raises("GeneralError", () => c.createReceiver(q).receiveMessages(1, { maxWaitTimeInMs: 5000 }));
    equal(/requires sessions/.test(e.message), true);
    await raises("SessionCannotBeLocked", () => c.acceptSession(p, "x")); // all that the SDK says when it gets none
    await raises("GeneralError", () => c.createSender(q).sendMessages({ body: "no session" }));
  }));
