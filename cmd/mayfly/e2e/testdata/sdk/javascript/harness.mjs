// What the cases share: where the servers are, entities, and how a case is told.

import assert from "node:assert/strict";
import readline from "node:readline";
import { ServiceBusClient } from "@azure/service-bus";

const cases = [];

/** Adds a case. */
export function test(name, f) {
  cases.push({ name, f, alone: false });
}

/** Adds a case that no other may run beside. */
export function testAlone(name, f) {
  cases.push({ name, f, alone: true });
}

class Server {
  constructor(prefix) {
    this.amqp = process.env[prefix + "_AMQP"];
    this.admin = process.env[prefix + "_ADMIN"];
    this.api = process.env[prefix + "_API"] + "/api/v1";
  }

  get connectionString() {
    return `Endpoint=sb://${this.amqp};SharedAccessKeyName=RootManageSharedAccessKey;SharedAccessKey=SAS_KEY_VALUE;UseDevelopmentEmulator=true;`;
  }

  /** Runs f with a client, which is closed afterwards. */
  async with(f, retries = 0) {
    const client = new ServiceBusClient(this.connectionString, {
      retryOptions: { maxRetries: retries, retryDelayInMs: 100, timeoutInMs: 15_000 },
    });
    try {
      return await f(client);
    } finally {
      await client.close();
    }
  }

  async call(method, path, body) {
    const answer = await fetch(this.api + path, { method, body: body && JSON.stringify(body) });
    const text = await answer.text();
    if (!answer.ok) throw new Error(`${answer.status} ${text}`);
    return text && JSON.parse(text);
  }

  async make(kind, path, properties = {}, more = {}) {
    await this.call("POST", "/entities", { kind, path, properties, ...more });
    return path;
  }

  queue(path, properties) {
    return this.make("queue", path, properties);
  }

  async topic(path, ...subscriptions) {
    await this.make("topic", path);
    for (const name of subscriptions) await this.make("subscription", `${path}/Subscriptions/${name}`);
    return path;
  }

  change(path, properties) {
    return this.call("PATCH", "/entities/" + path, { properties });
  }
}

export const standard = new Server("SB");
export const premium = new Server("SB_PREMIUM");

export const equal = assert.deepEqual;

/** f fails with an error of this code. */
export async function raises(code, f) {
  let failed;
  try {
    await f();
  } catch (e) {
    failed = e;
  }
  if (!failed) assert.fail(`nothing failed with ${code}`);
  if (failed.code !== code) assert.fail(`${failed.code} instead of ${code}: ${failed.stack}`);
  return failed;
}

/** Asks until the answer is true, and returns it. */
export async function until(what, patience = 20_000) {
  for (const end = Date.now() + patience; ; ) {
    const got = await what();
    if (got) return got;
    if (Date.now() > end) assert.fail("it never came true");
    await new Promise((done) => setTimeout(done, 20));
  }
}

/** Receives until there are n messages. */
export async function take(receiver, n, patience = 20_000) {
  const got = [];
  while (got.length < n) {
    const some = await receiver.receiveMessages(n - got.length, { maxWaitTimeInMs: patience });
    if (some.length === 0) assert.fail(`${got.length} of ${n} messages came`);
    got.push(...some);
  }
  return got;
}

export const bodies = (messages) => messages.map((m) => m.body);

const answers = readline.createInterface({ input: process.stdin })[Symbol.asyncIterator]();

/** Has the standard server killed and started again, on the same ports. */
export async function restart() {
  console.log("RESTART");
  equal((await answers.next()).value, "ready");
}

async function attempt({ name, f }) {
  const began = Date.now();
  try {
    await f();
    console.log(`PASS ${name} ${Date.now() - began}ms`);
  } catch (e) {
    const why = [e.stack, e.cause?.stack].filter(Boolean).join("\n");
    console.log([`FAIL ${name}`, ...why.split("\n").map((line) => "| " + line)].join("\n"));
  }
}

/** Runs the cases, several at a time: each has entities of its own. */
export async function run(only) {
  const chosen = cases.filter((c) => only.length === 0 || only.includes(c.name));
  const line = chosen.filter((c) => !c.alone);
  await Promise.all(
    Array.from({ length: 8 }, async () => {
      for (let c = line.shift(); c; c = line.shift()) await attempt(c);
    }),
  );
  for (const c of chosen) if (c.alone) await attempt(c);
  console.log(`DONE ${chosen.length}`);
  process.exit(0);
}
