"""azure-servicebus 7.0.1, which speaks AMQP by uamqp: always TLS, always port 5671."""

import os
import sys
import time
from datetime import datetime, timedelta

import certifi
import harness
import uamqp
from harness import case, equal, queue, raises, topic

certifi.where = lambda: harness.CA
os.environ["REQUESTS_CA_BUNDLE"] = harness.CA
uamqp._Platform.initialize()  # fails at times where two threads do it at once

from azure.servicebus import (  # noqa: E402
    NEXT_AVAILABLE_SESSION,
    AutoLockRenewer,
    ServiceBusClient,
    ServiceBusMessage,
    ServiceBusReceiveMode,
    ServiceBusSubQueue,
)
from azure.servicebus.exceptions import (  # noqa: E402
    MessageAlreadySettled,
    MessageSizeExceededError,
    ServiceBusAuthenticationError,
    ServiceBusError,
)
from azure.servicebus.management import CorrelationRuleFilter, ServiceBusAdministrationClient, SqlRuleFilter  # noqa: E402


def client():
    return ServiceBusClient.from_connection_string(f"Endpoint=sb://{harness.HOST}/;{harness.KEY}", retry_total=0)


def administration():
    return ServiceBusAdministrationClient.from_connection_string(f"Endpoint=sb://{harness.HTTPS}/;{harness.KEY}")


def texts(messages):
    return [str(m) for m in messages]


def take(receiver, n):
    got = []
    while len(got) < n:
        some = receiver.receive_messages(max_message_count=n - len(got), max_wait_time=15)
        if not some:
            raise AssertionError(f"{len(got)} of {n} messages came: {texts(got)}")
        got += some
    return got


def empty(receiver):
    equal(texts(receiver.peek_messages(max_message_count=10)), [])


@case
def a_message_keeps_what_it_has():
    q = queue("keeps")
    with client() as c, c.get_queue_sender(q) as s, c.get_queue_receiver(q) as r:
        s.send_messages(
            ServiceBusMessage(
                "hello",
                application_properties={"n": 1, "text": "x", "yes": True},
                subject="subject",
                message_id="id",
                correlation_id="correlation",
                content_type="text/plain",
                reply_to="answers",
                to="somewhere",
                time_to_live=timedelta(seconds=60),
            )
        )
        [m] = take(r, 1)
        equal(
            (str(m), m.subject, m.message_id, m.correlation_id, m.content_type, m.reply_to, m.to),
            ("hello", "subject", "id", "correlation", "text/plain", "answers", "somewhere"),
        )
        equal(m.application_properties, {b"n": 1, b"text": b"x", b"yes": True})
        equal(m.time_to_live, timedelta(seconds=60))
        equal((m.delivery_count, m.sequence_number), (0, 1))
        equal(m.expires_at_utc - m.enqueued_time_utc, timedelta(seconds=60))
        r.complete_message(m)
        empty(r)


@case
def lists_and_batches_stay_in_order():
    q = queue("order")
    with client() as c, c.get_queue_sender(q) as s, c.get_queue_receiver(q) as r:
        s.send_messages([ServiceBusMessage(str(i)) for i in range(20)])
        batch = s.create_message_batch()
        for i in range(20, 40):
            batch.add_message(ServiceBusMessage(str(i)))
        s.send_messages(batch)
        got = take(r, 40)
        equal(texts(got), [str(i) for i in range(40)])
        for m in got:
            r.complete_message(m)
        empty(r)


@case
def settling_each_way():
    q = queue("settling")
    with client() as c, c.get_queue_sender(q) as s, c.get_queue_receiver(q) as r:
        s.send_messages(ServiceBusMessage("m"))
        [m] = take(r, 1)
        r.abandon_message(m)
        [m] = take(r, 1)
        equal(m.delivery_count, 1)
        before = m.locked_until_utc
        equal(r.renew_message_lock(m) >= before, True)
        r.defer_message(m)
        raises(MessageAlreadySettled, lambda: r.complete_message(m))
        [m] = r.receive_deferred_messages(m.sequence_number)
        equal((str(m), m.delivery_count), ("m", 2))
        r.dead_letter_message(m, reason="why", error_description="because")
        empty(r)
        with c.get_queue_receiver(q, sub_queue=ServiceBusSubQueue.DEAD_LETTER) as d:
            [m] = take(d, 1)
            equal((str(m), m.dead_letter_reason, m.dead_letter_error_description), ("m", "why", "because"))
            d.complete_message(m)
            empty(d)


@case
def the_last_delivery_ends_in_the_dead_letter_queue():
    q = queue("last", MaxDeliveryCount=2)
    with client() as c, c.get_queue_sender(q) as s, c.get_queue_receiver(q) as r:
        s.send_messages(ServiceBusMessage("poison"))
        for n in range(2):
            [m] = take(r, 1)
            equal(m.delivery_count, n)
            r.abandon_message(m)
        with c.get_queue_receiver(q, sub_queue=ServiceBusSubQueue.DEAD_LETTER) as d:
            [m] = take(d, 1)
            equal((m.dead_letter_reason, m.delivery_count), ("MaxDeliveryCountExceeded", 2))


@case
def an_expired_message_is_dead_lettered():
    q = queue("expired", DeadLetteringOnMessageExpiration=True)
    with client() as c, c.get_queue_sender(q) as s:
        s.send_messages(ServiceBusMessage("short", time_to_live=timedelta(milliseconds=200)))
        with c.get_queue_receiver(q, sub_queue=ServiceBusSubQueue.DEAD_LETTER) as d:
            [m] = take(d, 1)
            equal((str(m), m.dead_letter_reason), ("short", "TTLExpiredException"))


@case
def a_lost_lock():
    q = queue("lost", LockDuration="PT1S")
    with client() as c, c.get_queue_sender(q) as s, c.get_queue_receiver(q) as r:
        s.send_messages(ServiceBusMessage("m"))
        [m] = take(r, 1)
        time.sleep(1.2)
        raises(ServiceBusError, lambda: r.complete_message(m), "lock has expired")  # the client's own look at the time
        [m] = take(r, 1)
        equal((str(m), m.delivery_count), ("m", 1))


@case
def a_renewed_lock():
    q = queue("renewed", LockDuration="PT4S")
    with client() as c, c.get_queue_sender(q) as s, c.get_queue_receiver(q) as r, AutoLockRenewer() as renewer:
        s.send_messages(ServiceBusMessage("m"))
        [m] = take(r, 1)
        renewer.register(r, m, max_lock_renewal_duration=30)
        time.sleep(5)
        r.complete_message(m)
        empty(r)


@case
def schedules_are_kept_and_cancelled():
    q = queue("schedules")
    with client() as c, c.get_queue_sender(q) as s, c.get_queue_receiver(q) as r:
        at = datetime.utcnow() + timedelta(seconds=2)
        numbers = s.schedule_messages([ServiceBusMessage("kept"), ServiceBusMessage("cancelled")], at)
        equal(texts(r.peek_messages(max_message_count=5)), ["kept", "cancelled"])
        s.cancel_scheduled_messages(numbers[1])
        [m] = take(r, 1)
        early = at - m.enqueued_time_utc.replace(tzinfo=None)
        equal((str(m), early <= timedelta(milliseconds=1)), ("kept", True))
        r.complete_message(m)
        empty(r)


@case
def a_session_has_order_state_and_a_lock():
    q = queue("session", RequiresSession=True)
    with client() as c, c.get_queue_sender(q) as s:
        for name in ("a", "b"):
            s.send_messages([ServiceBusMessage(name + str(i), session_id=name) for i in range(3)])
        with c.get_queue_receiver(q, session_id="a") as r:
            equal(r.session.get_state(), None)
            r.session.set_state("state")
            equal(bytes(r.session.get_state()), b"state")
            before = r.session.locked_until_utc
            equal(r.session.renew_lock() >= before, True)
            got = take(r, 3)
            equal(([m.session_id for m in got], texts(got)), (["a"] * 3, ["a0", "a1", "a2"]))
            for m in got:
                r.complete_message(m)
            with c.get_queue_receiver(q, session_id=NEXT_AVAILABLE_SESSION) as other:
                equal(other.session.session_id, "b")
                equal(texts(take(other, 3)), ["b0", "b1", "b2"])
        with c.get_queue_receiver(q, session_id="a") as r:
            equal(bytes(r.session.get_state()), b"state")


@case
def receive_and_delete_with_prefetch():
    q = queue("deletes")
    with client() as c, c.get_queue_sender(q) as s:
        s.send_messages([ServiceBusMessage(str(i)) for i in range(50)])
        mode = ServiceBusReceiveMode.RECEIVE_AND_DELETE
        with c.get_queue_receiver(q, receive_mode=mode, prefetch_count=20) as r:
            equal(texts(take(r, 50)), [str(i) for i in range(50)])
            empty(r)


@case
def peeking_takes_and_locks_nothing():
    q = queue("peeking")
    with client() as c, c.get_queue_sender(q) as s, c.get_queue_receiver(q) as r:
        s.send_messages([ServiceBusMessage(str(i)) for i in range(5)])
        equal(texts(r.peek_messages(max_message_count=2)), ["0", "1"])
        equal(texts(r.peek_messages(max_message_count=9, sequence_number=4)), ["3", "4"])
        got = take(r, 5)
        equal([m.delivery_count for m in got], [0] * 5)


@case
def duplicates_are_dropped():
    q = queue("duplicates", RequiresDuplicateDetection=True)
    with client() as c, c.get_queue_sender(q) as s, c.get_queue_receiver(q) as r:
        for body in ("first", "second", "third"):
            s.send_messages(ServiceBusMessage(body, message_id="same"))
        equal(texts(r.peek_messages(max_message_count=5)), ["first"])


@case
def large_messages():
    q = queue("large")
    with client() as c, c.get_queue_sender(q) as s, c.get_queue_receiver(q) as r:
        s.send_messages(ServiceBusMessage("x" * 200_000))
        [m] = take(r, 1)
        equal(str(m) == "x" * 200_000, True)
        raises(MessageSizeExceededError, lambda: s.send_messages(ServiceBusMessage("x" * 400_000)))


@case
def rules_decide_what_a_subscription_gets():
    t = topic("rules", "sql", "correlation")
    a = administration()
    a.create_rule(t, "sql", "r", filter=SqlRuleFilter("n > 3"))
    a.create_rule(t, "correlation", "r", filter=CorrelationRuleFilter(label="one"))
    for name in ("sql", "correlation"):
        a.delete_rule(t, name, "$Default")
        equal([r.name for r in a.list_rules(t, name)], ["r"])
    equal(a.get_rule(t, "sql", "r").filter.sql_expression, "n > 3")
    equal(a.get_rule(t, "correlation", "r").filter.label, "one")
    with client() as c, c.get_topic_sender(t) as s:
        for n, subject in ((1, "one"), (5, "five")):
            s.send_messages(ServiceBusMessage(str(n), application_properties={"n": n}, subject=subject))
        for name, want in (("sql", "5"), ("correlation", "1")):
            with c.get_subscription_receiver(t, name) as r:
                equal(texts(r.peek_messages(max_message_count=5)), [want])
                equal(texts(take(r, 1)), [want])


@case
def administration_of_queues_and_topics():
    from azure.core.exceptions import ResourceExistsError, ResourceNotFoundError

    a = administration()
    a.create_queue("made", lock_duration=timedelta(seconds=30), max_delivery_count=3, requires_session=True)
    raises(ResourceExistsError, lambda: a.create_queue("made"))
    made = a.get_queue("made")
    equal((made.lock_duration, made.max_delivery_count, made.requires_session), (timedelta(seconds=30), 3, True))
    made.max_delivery_count = 4
    made.default_message_time_to_live = timedelta(minutes=5)
    a.update_queue(made)
    made = a.get_queue("made")
    equal((made.max_delivery_count, made.default_message_time_to_live), (4, timedelta(minutes=5)))
    with client() as c, c.get_queue_sender("made") as s:
        s.send_messages([ServiceBusMessage("m", session_id="s")] * 1)
        s.schedule_messages(ServiceBusMessage("later", session_id="s"), datetime.utcnow() + timedelta(hours=1))
    counts = a.get_queue_runtime_properties("made")
    equal((counts.total_message_count, counts.active_message_count, counts.scheduled_message_count), (2, 1, 1))
    a.create_topic("made-topic")
    a.create_subscription("made-topic", "s", max_delivery_count=7)
    equal(a.get_subscription("made-topic", "s").max_delivery_count, 7)
    equal([s.name for s in a.list_subscriptions("made-topic")], ["s"])
    equal("made" in [q.name for q in a.list_queues()], True)
    a.delete_queue("made")
    raises(ResourceNotFoundError, lambda: a.get_queue("made"))


@case
def a_queue_that_does_not_exist():
    with client() as c:

        def send():
            with c.get_queue_sender("nowhere") as s:
                s.send_messages(ServiceBusMessage("m"))

        raises(ServiceBusAuthenticationError, send)  # from the 404; uamqp mangles the text at times


@case
def asynchronous():
    import asyncio

    from azure.servicebus.aio import ServiceBusClient as Client

    q = queue("asynchronous")

    async def work():
        async with Client.from_connection_string(f"Endpoint=sb://{harness.HOST}/;{harness.KEY}") as c:
            async with c.get_queue_sender(q) as s:
                await s.send_messages([ServiceBusMessage(str(i)) for i in range(5)])
            got = []
            async with c.get_queue_receiver(q) as r:
                async for m in r:
                    got.append(str(m))
                    await r.complete_message(m)
                    if len(got) == 5:
                        break
                equal([str(m) for m in await r.peek_messages(max_message_count=5)], [])
            equal(got, [str(i) for i in range(5)])

    asyncio.run(work())


harness.run(set(sys.argv[1:]))
