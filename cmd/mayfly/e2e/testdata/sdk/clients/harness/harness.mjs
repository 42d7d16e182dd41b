// What the cases of a client share: the server, its entities, and how a case is
// reported.

import assert from "node:assert/strict";

export const amqp = process.env.SB_AMQP; // host and port, in clear
export const api = process.env.SB_API + "/api/v1";
export const host = process.env.SB_HOST; // a loopback address with AMQP over TLS on port 5671
export const connectionString = `Endpoint=sb://${host}/;SharedAccessKeyName=RootManageSharedAccessKey;SharedAccessKey=SAS_KEY_VALUE`;

const cases = [];

/** Registers a case. */
export function test(name, f) {
  cases.push({ name, f });
}

export async function call(method, path, body) {
  const answer = await fetch(api + path, { method, body: body && JSON.stringify(body) });
  const text = await answer.text();
  if (!answer.ok) throw new Error(`${answer.status} ${text}`);
  return text && JSON.parse(text);
}

/** Creates an entity and returns its path. */
export async function make(kind, path, properties = {}) {
  await call("POST", "/entities", { kind, path, properties });
  return path;
}

export const queue = (path, properties) => make("queue", path, properties);

export async function topic(path, ...subscriptions) {
  await make("topic", path);
  for (const name of subscriptions) await make("subscription", `${path}/Subscriptions/${name}`);
  return path;
}

/** Returns how many messages a queue holds, by state, without zeros. */
export async function counts(path) {
  const all = (await call("GET", "/entities/" + path)).counts;
  return Object.fromEntries(Object.entries(all).filter(([, n]) => n));
}

export const equal = assert.deepEqual;

/** Checks that f fails and that the error's name, code or condition is this. */
export async function raises(kind, f) {
  let failed;
  try {
    await f();
  } catch (e) {
    failed = e;
  }
  if (!failed) assert.fail(`nothing failed with ${kind}`);
  if (![failed.name, failed.code, failed.condition].includes(kind)) {
    assert.fail(`${failed.name} ${failed.code} ${failed.condition} instead of ${kind}: ${failed.description || failed.stack}`);
  }
  return failed;
}

export const sleep = (ms) => new Promise((done) => setTimeout(done, ms));

/** Asks until the answer is true, and returns it. */
export async function until(what, patience = 20_000) {
  for (const end = Date.now() + patience; ; await sleep(20)) {
    const got = await what();
    if (got) return got;
    if (Date.now() > end) assert.fail("it never came true");
  }
}

async function attempt({ name, f }) {
  const began = Date.now();
  try {
    await f();
    console.log(`PASS ${name} ${Date.now() - began}ms`);
  } catch (e) {
    const why = e.stack || `${e.condition} ${e.description}`;
    console.log([`FAIL ${name}`, ...why.split("\n").map((line) => "| " + line)].join("\n"));
  }
}

/** Runs the cases, several at a time: each has entities of its own. */
export async function run(only) {
  const chosen = cases.filter((c) => only.length === 0 || only.includes(c.name));
  const line = [...chosen];
  await Promise.all(
    Array.from({ length: 8 }, async () => {
      for (let c = line.shift(); c; c = line.shift()) await attempt(c);
    }),
  );
  console.log(`DONE ${chosen.length}`);
  process.exit(0);
}
