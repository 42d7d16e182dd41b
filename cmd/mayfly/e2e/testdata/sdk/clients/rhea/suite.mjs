// rhea, a plain client of AMQP 1.0 that carries the SDK for JavaScript.

import rhea from "rhea";
import { amqp, counts, equal, queue, raises, run, sleep, test, topic, until } from "./harness.mjs";

const at = amqp.lastIndexOf(":");
const [host, port] = [amqp.slice(0, at), Number(amqp.slice(at + 1))];

/** Waits until one of the events happens; a name that ends in error or close fails. */
function event(emitter, good, ...bad) {
  return new Promise((done, fail) => {
    const late = setTimeout(() => fail(new Error(`no ${good}`)), 15_000);
    emitter.once(good, (c) => (clearTimeout(late), done(c)));
    for (const name of bad) emitter.once(name, (c) => (clearTimeout(late), fail((c.receiver || c.sender || c.connection).error || new Error(name))));
  });
}

/** Runs f with a connection, which is closed afterwards. */
async function using(f, options = {}) {
  const container = rhea.create_container();
  const broken = new Promise((_, fail) => container.on("error", fail)); // a frame that breaks the protocol, for one
  const connection = container.connect({ host, port, reconnect: false, ...options });
  await event(connection, "connection_open", "connection_error", "connection_close");
  try {
    await Promise.race([f(connection), broken]);
  } finally {
    connection.close();
  }
}

async function sender(connection, options) {
  const s = connection.open_sender(options);
  await event(s, "sendable", "sender_error");
  return s;
}

async function receiver(connection, options) {
  const r = connection.open_receiver(typeof options === "string" ? { source: options } : options);
  r.got = [];
  r.on("message", (c) => r.got.push(c));
  const refused = event(r, "receiver_close", "receiver_error");
  refused.catch(() => {});
  await event(r, "receiver_open");
  if (!r.remote.attach.source?.address) await refused;
  return r;
}

/** Sends a message and returns the name of its outcome. */
function send(s, message) {
  const d = s.send(message);
  return new Promise((done) => {
    const look = (c) => {
      if (c.delivery !== d) return;
      s.removeListener("settled", look);
      done(d.remote_state.constructor.composite_type);
    };
    s.on("settled", look);
  });
}

const bodies = (r) => r.got.map((c) => c.message.body);
const numbers = (n) => Array.from({ length: n }, (_, i) => i);
const come = (r, n) => until(() => r.got.length >= n);

/** Fails if more than n messages have come a moment later. */
async function only(r, n) {
  await sleep(400);
  equal(r.got.length, n);
}

test("a message keeps what it has", () =>
  using(async (c) => {
    const s = await sender(c, await queue("keeps"));
    const sent = {
      body: { n: 1, list: ["a", null, true] },
      message_id: "id",
      subject: "subject",
      correlation_id: "correlation",
      content_type: "text/plain",
      reply_to: "answers",
      priority: 6,
      durable: true,
      ttl: 60_000,
      application_properties: { n: 1, when: new Date(1000), text: "x", yes: true },
    };
    equal(await send(s, sent), "accepted");
    const r = await receiver(c, "keeps");
    await come(r, 1);
    const got = r.got[0].message;
    equal(Object.fromEntries(Object.keys(sent).map((k) => [k, got[k]])), sent);
    equal(got.message_annotations["x-opt-sequence-number"], 1);
    await until(async () => Object.keys(await counts("keeps")).length === 0);
  }));

test("500 messages as fast as credit allows", () =>
  using(async (c) => {
    const s = await sender(c, await queue("pipeline"));
    let next = 0;
    let accepted = 0;
    s.on("accepted", () => accepted++);
    const pump = () => {
      while (next < 500 && s.sendable()) s.send({ body: next++ });
    };
    s.on("sendable", pump);
    pump();
    await until(() => accepted === 500);
    const r = await receiver(c, { source: "pipeline", credit_window: 50 });
    await come(r, 500);
    equal(bodies(r), numbers(500));
  }));

test("draining", () =>
  using(async (c) => {
    const s = await sender(c, await queue("draining"));
    const r = await receiver(c, { source: "draining", credit_window: 0 });
    r.add_credit(5);
    r.drain_credit();
    await event(r, "receiver_drained");
    for (const body of numbers(3)) await send(s, { body });
    await only(r, 0);
    r.drain = false;
    r.add_credit(10);
    r.drain_credit();
    await event(r, "receiver_drained");
    equal(bodies(r), [0, 1, 2]);
  }));

test("no more comes than there is credit", () =>
  using(async (c) => {
    const s = await sender(c, await queue("credit"));
    for (const body of numbers(5)) await send(s, { body });
    const r = await receiver(c, { source: "credit", credit_window: 0 });
    r.add_credit(2);
    await come(r, 2);
    await only(r, 2);
    r.add_credit(3);
    await come(r, 5);
    equal(bodies(r), numbers(5));
  }));

test("settled before they are sent", () =>
  using(async (c) => {
    const s = await sender(c, { target: await queue("settled"), snd_settle_mode: 1 });
    for (const body of numbers(5)) s.send({ body });
    await until(async () => (await counts("settled")).active === 5);
    const r = await receiver(c, { source: "settled", snd_settle_mode: 1 });
    await come(r, 5);
    equal([bodies(r), r.got.map((x) => x.delivery.remote_settled)], [numbers(5), Array(5).fill(true)]);
    equal(await counts("settled"), {});
  }));

test("each outcome", () =>
  using(async (c) => {
    const s = await sender(c, await queue("outcomes"));
    await send(s, { body: "m" });
    const r = await receiver(c, { source: "outcomes", autoaccept: false, credit_window: 0 });
    const next = async (n) => {
      r.add_credit(1);
      await come(r, n);
      return r.got[n - 1];
    };
    (await next(1)).delivery.release();
    let got = await next(2);
    equal(got.message.delivery_count, 0);
    got.delivery.modified({ delivery_failed: true, undeliverable_here: false, message_annotations: { tried: "yes" } });
    got = await next(3);
    equal([got.message.delivery_count, got.message.application_properties], [1, { tried: "yes" }]);
    got.delivery.reject({ condition: "my:reason", description: "my text" });
    const d = await receiver(c, "outcomes/$DeadLetterQueue");
    await come(d, 1);
    equal([d.got[0].message.body, d.got[0].message.application_properties.tried], ["m", "yes"]);
    await until(async () => Object.keys(await counts("outcomes")).length === 0);
  }));

test("an unsettled delivery of a closed connection comes again", () =>
  using(async (c) => {
    const s = await sender(c, await queue("unsettled", { LockDuration: "PT1S" }));
    await send(s, { body: "m" });
    await using(async (other) => {
      const r = await receiver(other, { source: "unsettled", autoaccept: false });
      await come(r, 1);
    });
    const r = await receiver(c, "unsettled");
    await come(r, 1);
    equal(bodies(r), ["m"]);
  }));

test("a selector", () =>
  // Issue 24, number 11.
  using(async (c) => {
    const s = await sender(c, await queue("selector"));
    for (const body of ["us", "eu", "us"]) await send(s, { body, application_properties: { region: body } });
    const r = await receiver(c, { source: { address: "selector", filter: rhea.filter.selector("region = 'eu'") } });
    equal(Object.keys(r.remote.attach.source.filter), ["jms-selector"]);
    await come(r, 1);
    await only(r, 1);
    equal(bodies(r), ["eu"]);
  }));

test("what is not served is not confirmed", () =>
  // Issue 24, numbers 11 and 13.
  using(async (c) => {
    await queue("confirmed");
    const source = { address: "confirmed", durable: 2, expiry_policy: "never", filter: { "example:unknown": "v" } };
    const r = await receiver(c, { source });
    const got = r.remote.attach.source;
    equal([got.durable || 0, got.expiry_policy, Object.keys(got.filter || {})], [0, "link-detach", []]);
  }));

test("browsing locks nothing", () =>
  // Issue 24, number 12.
  using(async (c) => {
    const s = await sender(c, await queue("browsing"));
    for (const body of numbers(3)) await send(s, { body });
    const r = await receiver(c, { source: { address: "browsing", distribution_mode: "copy" }, autoaccept: false });
    await come(r, 3);
    equal([bodies(r), await counts("browsing")], [numbers(3), { active: 3 }]);
  }));

test("sessions by filter", () =>
  using(async (c) => {
    const s = await sender(c, await queue("sessions", { RequiresSession: true }));
    for (const group_id of ["a", "b"]) for (const n of numbers(2)) await send(s, { body: group_id + n, group_id });
    const name = "com.microsoft:session-filter";
    const r = await receiver(c, { source: { address: "sessions", filter: { [name]: "b" } } });
    await come(r, 2);
    await only(r, 2);
    equal([bodies(r), r.remote.attach.source.filter[name]], [["b0", "b1"], "b"]);
    await raises("amqp:not-allowed", () => receiver(c, "sessions"));
  }));

test("links that are refused leave their connection", () =>
  using(async (c) => {
    await raises("amqp:not-found", () => sender(c, "nowhere"));
    await raises("amqp:not-found", () => receiver(c, "nowhere"));
    await topic("refusing", "s");
    await raises("amqp:not-allowed", () => receiver(c, "refusing"));
    await raises("amqp:not-allowed", () => sender(c, "refusing/Subscriptions/s"));
    const r = await receiver(c, "refusing/Subscriptions/s");
    await send(await sender(c, "refusing"), { body: "m" });
    await come(r, 1);
    equal(bodies(r), ["m"]);
  }));

test("a link that is closed while it waits for a session", () =>
  // Issue 24, number 10: the attach is answered before the detach is. rhea opens its link
  // again when the answer to an attach comes after its close, which must end at some time.
  using(async (c) => {
    await queue("waiting", { RequiresSession: true });
    const filter = { "com.microsoft:session-filter": null };
    for (let i = 0; i < 20; i++) {
      const r = c.open_receiver({ source: { address: "waiting", filter } });
      if (i % 2) await sleep(20);
      const closed = event(r, "receiver_close");
      r.close();
      await closed;
    }
    equal(await send(await sender(c, await queue("after-waiting")), { body: "m" }), "accepted");
  }));

test("large messages", () =>
  using(async (c) => {
    const s = await sender(c, await queue("large"));
    const content = Buffer.alloc(200_000, 7);
    equal(await send(s, { body: rhea.message.data_section(content) }), "accepted");
    const r = await receiver(c, "large");
    await come(r, 1);
    equal(Buffer.compare(r.got[0].message.body.content, content), 0);
    const closed = event(s, "sender_error").then(({ sender }) => sender.error.condition);
    const outcome = send(s, { body: rhea.message.data_section(Buffer.alloc(400_000)) });
    equal(["rejected", "amqp:link:message-size-exceeded"].includes(await Promise.race([outcome, closed])), true);
  }));

test("a quiet connection is kept", () =>
  using(
    async (c) => {
      await sleep(3000);
      equal(await send(await sender(c, await queue("quiet")), { body: "m" }), "accepted");
    },
    { idle_time_out: 1000 },
  ));

test("a session that is closed ends its links", () =>
  using(async (c) => {
    await queue("ending");
    const session = c.create_session();
    session.begin();
    await event(session.open_sender("ending"), "sendable");
    session.close();
    await event(session, "session_close");
    equal(await send(await sender(c, "ending"), { body: "m" }), "accepted");
  }));

await run(process.argv.slice(2));
