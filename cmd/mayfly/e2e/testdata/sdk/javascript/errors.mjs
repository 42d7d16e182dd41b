// The code of the SDK's error for each condition, and what still works afterwards.

import Long from "long";
import { bodies, equal, premium, raises, standard, take, test } from "./harness.mjs";

const brief = { maxWaitTimeInMs: 5000 };

test("nothing_of_that_name", () =>
  standard.with(async (c) => {
    await raises("MessagingEntityNotFound", () => c.createSender("js-nothing").sendMessages({ body: "x" }));
    await raises("MessagingEntityNotFound", () => c.createReceiver("js-nothing").receiveMessages(1, brief));
    await raises("MessagingEntityNotFound", () => c.createReceiver("js-nothing").peekMessages(1));
    await raises("MessagingEntityNotFound", () => c.acceptSession("js-nothing", "x")); // sdk-demands 1
    await raises("MessagingEntityNotFound", () => c.acceptNextSession("js-nothing"));
    const t = await standard.topic("js-not-found");
    await raises("MessagingEntityNotFound", () => c.createReceiver(t, "nothing").receiveMessages(1, brief));
  }));

test("too_large", async () => {
  const q = await standard.queue("js-too-large");
  await standard.with(async (c) => {
    const s = c.createSender(q);
    await raises("MessageSizeExceeded", () => s.sendMessages({ body: Buffer.alloc(1_000_000) })); // sdk-demands 26
    await s.sendMessages({ body: "small" });
    equal(bodies(await take(c.createReceiver(q), 1)), ["small"]);
  });
});

test("disabled", async () => {
  const q = await standard.queue("js-disabled");
  await standard.change(q, { Status: "Disabled" });
  await standard.with(async (c) => {
    await raises("MessagingEntityDisabled", () => c.createSender(q).sendMessages({ body: "x" }));
    await raises("MessagingEntityDisabled", () => c.createReceiver(q).receiveMessages(1, brief));
    await standard.change(q, { Status: "SendDisabled" });
    await raises("MessagingEntityDisabled", () => c.createSender(q).sendMessages({ body: "x" }));
    await standard.change(q, { Status: "Active" });
    await c.createSender(q).sendMessages({ body: "x" });
    equal(bodies(await take(c.createReceiver(q), 1)), ["x"]);
  });
});

test("nothing_to_find", async () => {
  const q = await standard.queue("js-nothing-to-find");
  await standard.with(async (c) => {
    await raises("MessageNotFound", () => c.createSender(q).cancelScheduledMessages(Long.fromNumber(77)));
    await raises("MessageNotFound", () => c.createReceiver(q).receiveDeferredMessages(Long.fromNumber(77)));
  });
});

test("full", async () => {
  const q = await premium.queue("js-full", { MaxSizeInMegabytes: 1 });
  await premium.with(async (c) => {
    const s = c.createSender(q);
    await raises("QuotaExceeded", async () => {
      for (let i = 0; i < 8; i++) await s.sendMessages({ body: Buffer.alloc(200_000) });
    });
  });
});

test("wrong_places", async () => {
  const t = await standard.topic("js-wrong-place", "s");
  await standard.with(async (c) => {
    await raises("GeneralError", () => c.createReceiver(t).receiveMessages(1, brief));
    await raises("GeneralError", () => c.createSender(t + "/Subscriptions/s").sendMessages({ body: "x" }));
  });
});
