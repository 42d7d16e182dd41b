// Topics and subscriptions, rules, forwarding, entities that delete themselves.

import { bodies, equal, raises, standard, take, test, until } from "./harness.mjs";

test("topic_and_subscriptions", async () => {
  const t = await standard.topic("js-topic", "a", "b");
  await standard.with(async (c) => {
    await c.createSender(t).sendMessages([{ body: "x" }, { body: "y" }]);
    for (const name of ["a", "b"]) {
      const r = c.createReceiver(t, name);
      const got = await take(r, 2);
      equal(bodies(got), ["x", "y"]);
      await r.completeMessage(got[0]);
      await r.deadLetterMessage(got[1], { deadLetterReason: name });
      const [dead] = await take(c.createReceiver(t, name, { subQueueType: "deadLetter" }), 1);
      equal(dead.deadLetterReason, name);
    }
  });
});

test("session_of_a_subscription", async () => {
  const t = await standard.topic("js-topic-sessions");
  await standard.make("subscription", t + "/Subscriptions/s", { RequiresSession: true });
  await standard.with(async (c) => {
    await c.createSender(t).sendMessages({ body: "x", sessionId: "a" });
    const r = await c.acceptNextSession(t, "s");
    equal([r.sessionId, ...bodies(await take(r, 1))], ["a", "x"]);
  });
});

test("rules_are_managed", async () => {
  const t = await standard.topic("js-rules", "s");
  await standard.with(async (c) => {
    const rules = c.createRuleManager(t, "s");
    const list = async () => {
      const all = [];
      for await (const r of rules.listRules()) if (r) all.push(r); // no rules are one undefined
      return all;
    };
    equal((await list()).map((r) => r.name), ["$Default"]);
    await rules.deleteRule("$Default");
    equal(await list(), []);
    await rules.createRule("sql", { sqlExpression: "price > 10 AND sys.Label = 'x'" }, { sqlExpression: "SET seen = 'yes'; SET sys.Label = 'y'" });
    await rules.createRule("exact", { correlationId: "c", applicationProperties: { n: 5, b: true, s: "x" } });
    const byName = Object.fromEntries((await list()).map((r) => [r.name, r]));
    equal(Object.keys(byName).sort(), ["exact", "sql"]);
    equal(byName.sql.filter.sqlExpression, "price > 10 AND sys.Label = 'x'");
    equal(byName.sql.action.sqlExpression, "SET seen = 'yes'; SET sys.Label = 'y'");
    equal(byName.exact.filter.correlationId, "c");
    equal(byName.exact.filter.applicationProperties, { n: 5, b: true, s: "x" });
    await raises("MessagingEntityAlreadyExists", () => rules.createRule("exact", { correlationId: "c" }));
    await raises("MessagingEntityNotFound", () => rules.deleteRule("nothing")); // the SDK decides by the text
    const s = c.createSender(t);
    await s.sendMessages({ body: "cheap", subject: "x", applicationProperties: { price: 5 } });
    await s.sendMessages({ body: "dear", subject: "x", applicationProperties: { price: 15.5 } });
    await s.sendMessages({ body: "exact", correlationId: "c", applicationProperties: { n: 5, b: true, s: "x" } });
    const got = await take(c.createReceiver(t, "s", { receiveMode: "receiveAndDelete" }), 2);
    equal(got.map((m) => [m.body, m.subject, m.applicationProperties.seen]), [["dear", "y", "yes"], ["exact", undefined, undefined]]);
  });
});

test("many_rules", async () => {
  const t = await standard.topic("js-many-rules", "s");
  await standard.with(async (c) => {
    const rules = c.createRuleManager(t, "s");
    for (let i = 0; i < 120; i++) await rules.createRule(`r${i}`, { correlationId: `${i}` });
    let n = 0;
    for await (const _ of rules.listRules()) n++;
    equal(n, 121); // the SDK asks until a page is empty
  });
});

test("forwarding", async () => {
  const last = await standard.queue("js-forward-to");
  const first = await standard.queue("js-forward-from", { ForwardTo: last });
  await standard.with(async (c) => {
    await c.createSender(last).sendMessages({ body: "direct" });
    await c.createSender(first).sendMessages({ body: "x" });
    const got = await take(c.createReceiver(last), 2);
    equal(got.map((m) => [m.body, m.sequenceNumber.toNumber(), m.enqueuedSequenceNumber]), [["direct", 1, undefined], ["x", 2, 1]]);
  });
});

test("deletes_itself_when_idle", async () => {
  const q = await standard.queue("js-idle", { AutoDeleteOnIdle: "PT1S" });
  await until(async () => (await fetch(standard.api + "/entities/" + q)).status === 404);
  await standard.with(async (c) => {
    await raises("MessagingEntityNotFound", () => c.createSender(q).sendMessages({ body: "x" }));
  });
});
