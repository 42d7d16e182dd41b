// The administration client.

import { ServiceBusAdministrationClient } from "@azure/service-bus";
import { equal, standard, take, test } from "./harness.mjs";

function administrator() {
  const a = new ServiceBusAdministrationClient(standard.connectionString, { retryOptions: { maxRetries: 0 } });
  // The SDK would speak HTTPS.
  const prepare = a.sendRequest.bind(a);
  a.sendRequest = (request) => {
    request.url = request.url.replace(/^https:/, "http:");
    request.allowInsecureConnection = true;
    return prepare(request);
  };
  a.endpoint = new URL(standard.admin).host;
  return a;
}

/** f fails with this code. */
async function raises(code, f) {
  const e = await f().then(() => undefined, (e) => e);
  equal(e?.code, code);
}

async function all(pages) {
  const out = [];
  for await (const x of pages) out.push(x);
  return out;
}

test("admin_queue", async () => {
  const a = administrator();
  const q = "js-admin-queue";
  const made = await a.createQueue(q, { lockDuration: "PT30S", maxDeliveryCount: 7, requiresSession: true, defaultMessageTimeToLive: "PT2H", userMetadata: "<é>" });
  for (const got of [made, await a.getQueue(q)]) {
    equal([got.name, got.lockDuration, got.maxDeliveryCount, got.requiresSession, got.defaultMessageTimeToLive, got.userMetadata, got.status], [q, "PT30S", 7, true, "PT2H", "<é>", "Active"]);
  }
  const got = await a.updateQueue({ ...(await a.getQueue(q)), maxDeliveryCount: 9 });
  equal([got.maxDeliveryCount, got.lockDuration], [9, "PT30S"]);
  equal([await a.queueExists(q), await a.queueExists("js-admin-nothing")], [true, false]);
  await raises("MessageEntityAlreadyExistsError", () => a.createQueue(q));
  await raises("MessageEntityNotFoundError", () => a.getQueue("js-admin-nothing"));
  await a.deleteQueue(q);
  await raises("MessageEntityNotFoundError", () => a.deleteQueue(q));
});

test("admin_runtime", async () => {
  const a = administrator();
  const q = "js-admin-runtime";
  await a.createQueue(q);
  await standard.with(async (c) => {
    const s = c.createSender(q);
    const r = c.createReceiver(q);
    await s.sendMessages([{ body: "x" }, { body: "y" }, { body: "z" }]);
    await s.scheduleMessages({ body: "later" }, new Date(Date.now() + 3600_000));
    await r.deadLetterMessage((await take(r, 2))[0]);
    const got = await a.getQueueRuntimeProperties(q);
    equal([got.activeMessageCount, got.deadLetterMessageCount, got.scheduledMessageCount, got.totalMessageCount], [2, 1, 1, 4]);
  });
});

test("admin_topics_and_rules", async () => {
  const a = administrator();
  const t = "js-admin-topic";
  await a.createTopic(t, { enablePartitioning: true });
  equal((await a.getTopic(t)).maxSizeInMegabytes, 16 * 1024); // sdk-demands 28
  await a.createSubscription(t, "s", { defaultRuleOptions: { name: "first", filter: { sqlExpression: "a = 1" }, action: { sqlExpression: "SET b = 2" } } }); // sdk-demands 35
  const applicationProperties = { n: 5, t: "x", b: true, f: 1.5, d: new Date("2026-01-02T03:04:05.000Z") };
  await a.createRule(t, "s", "exact", { correlationId: "c", applicationProperties });
  await a.createRule(t, "s", "sql", { sqlExpression: "p = @p", sqlParameters: { "@p": 7 } });
  const rules = Object.fromEntries((await all(a.listRules(t, "s"))).map((r) => [r.name, r]));
  equal(Object.keys(rules).sort(), ["exact", "first", "sql"]);
  equal([rules.first.filter.sqlExpression, rules.first.action.sqlExpression], ["a = 1", "SET b = 2"]);
  equal([rules.exact.filter.correlationId, rules.exact.filter.applicationProperties], ["c", applicationProperties]);
  equal(rules.sql.filter.sqlParameters, { "@p": 7 });
  const updated = await a.updateRule(t, "s", { ...rules.sql, filter: { sqlExpression: "q = 1" } });
  equal(updated.filter.sqlExpression, "q = 1");
  await a.deleteRule(t, "s", "sql");
  await raises("MessageEntityNotFoundError", () => a.getRule(t, "s", "sql"));
  equal((await a.getTopicRuntimeProperties(t)).subscriptionCount, 1);
  equal((await all(a.listSubscriptions(t))).map((s) => s.subscriptionName), ["s"]);
  equal((await all(a.listSubscriptionsRuntimeProperties(t))).map((s) => s.totalMessageCount), [0]);
  await raises("MessageEntityNotFoundError", () => a.getSubscription(t, "nothing"));
  await a.deleteSubscription(t, "s");
  await a.deleteTopic(t);
});

test("admin_lists", async () => {
  const a = administrator();
  const names = Array.from({ length: 120 }, (_, i) => `js-admin-list-${String(i).padStart(3, "0")}`);
  for (const name of names) await a.createQueue(name);
  equal((await all(a.listQueues())).map((q) => q.name).filter((n) => n.startsWith("js-admin-list-")), names); // over a page's end
});

test("admin_forwarding", async () => {
  const a = administrator();
  const last = "js-admin-to";
  await a.createQueue(last);
  // A plain name is one that the SDK makes an address of.
  const asSent = (forwardTo) => (forwardTo.includes(":") ? forwardTo : a.endpointWithProtocol + forwardTo);
  const forms = [last, `sb://${a.endpoint}/${last}`, `https://${a.endpoint}/${last}`];
  for (const [i, forwardTo] of forms.entries()) {
    const q = `js-admin-from-${i}`;
    const forwards = { forwardTo, forwardDeadLetteredMessagesTo: forwardTo };
    for (const got of [await a.createQueue(q, forwards), await a.getQueue(q), await a.updateQueue(await a.getQueue(q))]) {
      equal([got.forwardTo, got.forwardDeadLetteredMessagesTo], [asSent(forwardTo), asSent(forwardTo)]); // sdk-demands 32
    }
  }
  await standard.with(async (c) => {
    for (const i of forms.keys()) await c.createSender(`js-admin-from-${i}`).sendMessages({ body: i });
    equal((await take(c.createReceiver(last), 3)).map((m) => m.body).sort(), [0, 1, 2]);
  });
});

test("admin_forwarding_keeps_the_rest", async () => {
  const a = administrator();
  await a.createQueue("js-admin-kept-to");
  await a.createTopic("js-admin-kept");
  const kept = { forwardTo: `sb://${a.endpoint}/js-admin-kept-to`, requiresSession: true, autoDeleteOnIdle: "PT10M", defaultMessageTimeToLive: "PT1H" };
  const asKept = (x) => Object.fromEntries(Object.keys(kept).map((k) => [k, x[k]]));
  // sdk-demands 33
  for (const got of [await a.createQueue("js-admin-kept-from", kept), await a.getQueue("js-admin-kept-from")]) equal(asKept(got), kept);
  for (const got of [await a.createSubscription("js-admin-kept", "s", kept), await a.getSubscription("js-admin-kept", "s")]) equal(asKept(got), kept);
});

test("admin_namespace", async () => {
  const got = await administrator().getNamespaceProperties();
  equal([got.messagingSku, got.messagingUnits], ["Standard", undefined]); // sdk-demands 31
});
