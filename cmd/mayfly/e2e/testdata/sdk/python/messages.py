"""Messages out and back in: sends, batches, schedules, bodies, properties, time to live."""

import datetime
import time
import uuid

from azure.servicebus import ServiceBusMessage, ServiceBusReceiveMode, ServiceBusSubQueue
from azure.servicebus.amqp import AmqpAnnotatedMessage, AmqpMessageBodyType, AmqpMessageHeader, AmqpMessageProperties

from harness import bodies, case, equal, premium, standard, take, until


def now():
    return datetime.datetime.now(datetime.timezone.utc)


@case
def send_and_receive_and_delete():
    q = standard.queue("py-send")
    with standard.client() as c, c.get_queue_sender(q) as s:
        s.send_messages(ServiceBusMessage("one"))
        s.send_messages([ServiceBusMessage("two"), ServiceBusMessage("three")])
        with c.get_queue_receiver(q, receive_mode=ServiceBusReceiveMode.RECEIVE_AND_DELETE) as r:
            got = take(r, 3)
            equal(bodies(got), ["one", "two", "three"])
            equal([m.sequence_number for m in got], [1, 2, 3])
            equal([m.delivery_count for m in got], [0, 0, 0])
            equal(got[0].lock_token, None)
            equal(r.peek_messages(), [])


@case
def send_batch():
    q = standard.queue("py-batch")
    with standard.client() as c, c.get_queue_sender(q) as s, c.get_queue_receiver(q) as r:
        batch = s.create_message_batch()
        equal(batch.max_size_in_bytes, 262144)  # sdk-demands 26
        for i in range(50):
            batch.add_message(ServiceBusMessage(f"{i}", application_properties={"i": i}))
        s.send_messages(batch)
        got = take(r, 50)
        equal(bodies(got), [f"{i}" for i in range(50)])
        equal([m.application_properties[b"i"] for m in got], list(range(50)))
        for m in got:
            r.complete_message(m)
        single = s.create_message_batch(max_size_in_bytes=10_000)
        single.add_message(ServiceBusMessage("alone"))
        s.send_messages(single)
        equal(bodies(take(r, 1)), ["alone"])


@case
def schedule_and_cancel():
    q = standard.queue("py-schedule")
    with standard.client() as c, c.get_queue_sender(q) as s, c.get_queue_receiver(q) as r:
        later = now() + datetime.timedelta(hours=1)
        soon = now() + datetime.timedelta(milliseconds=400)
        far = s.schedule_messages([ServiceBusMessage("a"), ServiceBusMessage("b")], later)
        near = s.schedule_messages(ServiceBusMessage("near"), soon)
        equal(len(far), 2)
        peeked = r.peek_messages(max_message_count=10)
        equal(bodies(peeked), ["a", "b", "near"])
        equal(peeked[0].state.name, "SCHEDULED")
        equal(abs((peeked[0].scheduled_enqueue_time_utc - later).total_seconds()) < 0.01, True)
        s.cancel_scheduled_messages(far)
        (m,) = take(r, 1)
        equal(bodies([m]), ["near"])
        equal(m.enqueued_time_utc >= soon.replace(microsecond=soon.microsecond // 1000 * 1000), True)
        equal(len(near), 1)
        r.complete_message(m)
        equal(r.peek_messages(), [])


@case
def schedule_by_property():
    q = standard.queue("py-schedule-property")
    with standard.client() as c, c.get_queue_sender(q) as s, c.get_queue_receiver(q) as r:
        m = ServiceBusMessage("later", scheduled_enqueue_time_utc=now() + datetime.timedelta(milliseconds=300))
        s.send_messages(m)
        (got,) = take(r, 1)
        equal(got.scheduled_enqueue_time_utc is not None, True)  # sdk-demands 24
        r.complete_message(got)


@case
def every_body():
    q = standard.queue("py-bodies")
    value = {"a": [1, 2.5, "x", b"y", True, None], "n": {"deep": 3}}
    sent = [
        AmqpAnnotatedMessage(data_body=[b"one", b"two"]),
        AmqpAnnotatedMessage(data_body=b""),
        AmqpAnnotatedMessage(sequence_body=[[1, "a"], [2, "b"]]),
        AmqpAnnotatedMessage(value_body=value),
        AmqpAnnotatedMessage(value_body="text"),
        AmqpAnnotatedMessage(value_body=None),
        AmqpAnnotatedMessage(value_body=-7),
    ]
    with standard.client() as c, c.get_queue_sender(q) as s, c.get_queue_receiver(q) as r:
        for m in sent:
            s.send_messages(m)
        got = take(r, len(sent))
        kinds = [m.body_type for m in got]
        equal(kinds[:4], [AmqpMessageBodyType.DATA, AmqpMessageBodyType.DATA, AmqpMessageBodyType.SEQUENCE, AmqpMessageBodyType.VALUE])
        equal(list(got[0].body), [b"one", b"two"])
        equal(b"".join(got[1].body), b"")
        equal([list(x) for x in got[2].body], [[1, b"a"], [2, b"b"]])
        equal(got[3].body, {b"a": [1, 2.5, b"x", b"y", True, None], b"n": {b"deep": 3}})
        equal(got[4].body, b"text")
        equal(got[5].body, None)
        equal(got[6].body, -7)
        for m in got:
            r.complete_message(m)


@case
def every_property():
    q = standard.queue("py-properties")
    properties = {
        "text": "ä€", "yes": True, "no": False, "int": -5, "float": 1.25,
        "uuid": uuid.UUID("00010203-0405-0607-0809-0a0b0c0d0e0f"), "null": None, "empty": "",
        "time": datetime.datetime(2026, 1, 2, 3, 4, 5, 678000, tzinfo=datetime.timezone.utc),
    }
    m = ServiceBusMessage(
        "body", application_properties=properties, message_id="id", correlation_id="cid", content_type="text/plain",
        subject="subject", reply_to="rt", to="to", partition_key="pk", time_to_live=datetime.timedelta(minutes=5),
        reply_to_session_id="rts",
    )
    with standard.client() as c, c.get_queue_sender(q) as s, c.get_queue_receiver(q) as r:
        s.send_messages(m)
        (got,) = take(r, 1)
        p = {k.decode(): v for k, v in got.application_properties.items()}
        equal(p["text"].decode(), "ä€")
        equal(p["empty"], b"")
        for name in ("yes", "no", "int", "float", "uuid", "null"):
            equal(p[name], properties[name])
        equal(int(p["time"]), int(properties["time"].timestamp() * 1000))
        equal(
            (got.message_id, got.correlation_id, got.content_type, got.subject, got.reply_to, got.to, got.partition_key, got.reply_to_session_id),
            ("id", "cid", "text/plain", "subject", "rt", "to", "pk", "rts"),
        )
        equal(got.time_to_live, datetime.timedelta(minutes=5))
        equal((got.expires_at_utc - got.enqueued_time_utc), datetime.timedelta(minutes=5))
        equal((got.sequence_number, got.delivery_count, got.state.name), (1, 0, "ACTIVE"))
        equal(got.dead_letter_reason, None)
        # The whole is sent on as it came, and comes back the same. (The SDK reads a
        # time as a number that it cannot write.)
        del got.application_properties[b"time"], p["time"]
        s.send_messages(got)
        r.complete_message(got)
        (again,) = take(r, 1)
        equal({k.decode(): v for k, v in again.application_properties.items()}, p)
        equal(
            (again.message_id, again.correlation_id, again.subject, again.partition_key, again.time_to_live),
            ("id", "cid", "subject", "pk", datetime.timedelta(minutes=5)),
        )


@case
def raw_message():
    q = standard.queue("py-raw")
    m = AmqpAnnotatedMessage(
        data_body=b"raw",
        header=AmqpMessageHeader(priority=7, durable=True, first_acquirer=True, time_to_live=60_000),
        properties=AmqpMessageProperties(message_id="mid", user_id=b"me", content_encoding="gzip", group_id="g", group_sequence=3),
        application_properties={"p": "v"}, annotations={"x-mine": 1, b"x-bytes": "t"},
        delivery_annotations={"d": "e"}, footer={"f": "g"},
    )
    with standard.client() as c, c.get_queue_sender(q) as s:
        s.send_messages(m)
        with c.get_queue_receiver(q) as r:
            (got,) = take(r, 1)
            raw = got.raw_amqp_message
            equal(raw.header.priority, 7)  # sdk-demands 17
            equal(raw.properties.content_encoding, b"gzip")
            equal(raw.properties.group_sequence, 3)
            equal(raw.footer, {b"f": b"g"})  # sdk-demands 18
            equal(raw.delivery_annotations[b"d"], b"e")
            equal(b"x-opt-lock-token" in raw.delivery_annotations, True)  # sdk-demands 15
            # sdk-demands 16: what was sent and three of the broker's.
            equal(
                sorted(k.decode() for k in raw.annotations),
                ["x-bytes", "x-mine", "x-opt-enqueued-time", "x-opt-locked-until", "x-opt-sequence-number"],
            )
            r.abandon_message(got)
        with c.get_queue_receiver(q, receive_mode="receiveanddelete") as r:
            (got,) = take(r, 1)
            raw = got.raw_amqp_message
            equal(raw.delivery_annotations, {b"d": b"e"})
            equal(got.delivery_count, 1)


@case
def what_is_deleted_on_receipt():
    q = standard.queue("py-bare")
    with standard.client() as c, c.get_queue_sender(q) as s:
        s.send_messages(AmqpAnnotatedMessage(data_body=b"x"))
        with c.get_queue_receiver(q, receive_mode="receiveanddelete") as r:
            (got,) = take(r, 1)
            # sdk-demands 21
            raw = got.raw_amqp_message
            equal((raw.header.durable, raw.header.first_acquirer, raw.header.priority), (None, None, None))
            equal(raw.delivery_annotations, {})
            equal(got._delivery_tag, b"")
        s.send_messages(AmqpAnnotatedMessage(data_body=b"x", header=AmqpMessageHeader(durable=True, priority=3)))
        with c.get_queue_receiver(q, receive_mode="receiveanddelete") as r:
            (got,) = take(r, 1)
            header = got.raw_amqp_message.header
            equal((header.durable, header.priority), (True, 3))


@case
def null_annotations():
    q = standard.queue("py-nulls")
    nulls = {"x-opt-partition-key": None, "x-opt-deadletter-source": None, "x-opt-locked-until": None, "x-opt-sequence-number": None, "x-opt-enqueued-time": None}
    with standard.client() as c, c.get_queue_sender(q) as s, c.get_queue_receiver(q) as r:
        s.send_messages(AmqpAnnotatedMessage(data_body=b"x", annotations=nulls))
        (got,) = take(r, 1)
        annotations = {k.decode(): v for k, v in got.raw_amqp_message.annotations.items()}
        # sdk-demands 23
        equal(sorted(annotations), sorted(nulls))
        equal([annotations[k] for k in ("x-opt-partition-key", "x-opt-deadletter-source")], [None, None])
        equal((got.sequence_number, got.partition_key, got.dead_letter_source), (1, None, None))
        equal(got.locked_until_utc > got.enqueued_time_utc, True)
        r.complete_message(got)


@case
def an_id_is_given():
    q = standard.queue("py-no-id")
    with standard.client() as c, c.get_queue_sender(q) as s, c.get_queue_receiver(q) as r:
        s.send_messages(AmqpAnnotatedMessage(data_body=b"anonymous"))
        (got,) = take(r, 1)
        equal(bool(got.message_id), True)  # sdk-demands 19
        equal(got.raw_amqp_message.header.time_to_live, None)  # sdk-demands 17


@case
def expiry_into_the_dead_letters():
    q = standard.queue("py-ttl", DeadLetteringOnMessageExpiration=True)
    with standard.client() as c, c.get_queue_sender(q) as s:
        s.send_messages(ServiceBusMessage("brief", time_to_live=datetime.timedelta(milliseconds=200)))
        with c.get_queue_receiver(q, sub_queue=ServiceBusSubQueue.DEAD_LETTER) as dead:
            (got,) = take(dead, 1)
            equal(got.dead_letter_reason, "TTLExpiredException")
            equal(got.dead_letter_error_description, "The message expired and was dead lettered.")
            dead.complete_message(got)
        with c.get_queue_receiver(q) as r:
            equal(r.peek_messages(), [])


@case
def expiry_for_good():
    q = standard.queue("py-ttl-gone")
    with standard.client() as c, c.get_queue_sender(q) as s, c.get_queue_receiver(q) as r:
        s.send_messages(ServiceBusMessage("brief", time_to_live=datetime.timedelta(milliseconds=200)))
        until(lambda: not r.peek_messages())


@case
def duplicates_are_dropped():
    q = standard.queue("py-duplicates", RequiresDuplicateDetection=True)
    with standard.client() as c, c.get_queue_sender(q) as s, c.get_queue_receiver(q) as r:
        for i in ("a", "b", "a", "b", "c"):
            s.send_messages(ServiceBusMessage(i, message_id=i))
        s.send_messages([ServiceBusMessage(i, message_id=i) for i in ("c", "d", "d")])
        equal(bodies(r.peek_messages(max_message_count=20)), ["a", "b", "c", "d"])


@case
def large_message():
    q = premium.queue("py-large", MaxMessageSizeInKilobytes=102400)
    body = bytes(range(256)) * 40960  # 10 MiB
    with premium.client() as c, c.get_queue_sender(q) as s, c.get_queue_receiver(q) as r:
        s.send_messages(ServiceBusMessage(body))
        (got,) = take(r, 1, 60)
        equal(b"".join(got.body) == body, True)
        r.complete_message(got)


@case
def many_and_prefetch():
    q = standard.queue("py-many")
    with standard.client() as c, c.get_queue_sender(q) as s:
        for i in range(0, 600, 200):
            s.send_messages([ServiceBusMessage(f"{j}") for j in range(i, i + 200)])
        with c.get_queue_receiver(q, prefetch_count=150) as r:
            seen = []
            while len(seen) < 600:
                for m in take(r, min(100, 600 - len(seen))):
                    seen.append(b"".join(m.body).decode())
                    r.complete_message(m)
            equal(seen, [f"{i}" for i in range(600)])


@case
def close_with_messages_in_flight():
    q = standard.queue("py-in-flight", LockDuration="PT5M")
    with standard.client() as c, c.get_queue_sender(q) as s:
        s.send_messages([ServiceBusMessage(f"{i}") for i in range(300)])
        # Prefetched and never asked for: what the client has not given back is
        # locked; what was not on its way is not.
        r = c.get_queue_receiver(q, prefetch_count=100)
        take(r, 1)
        r.close()
        with c.get_queue_receiver(q) as r:
            first = take(r, 100)
            equal(len({m.sequence_number for m in first}), 100)


@case
def auto_lock_renewal():
    from azure.servicebus import AutoLockRenewer

    q = standard.queue("py-renewer", LockDuration="PT2S")
    with standard.client() as c, c.get_queue_sender(q) as s, AutoLockRenewer() as renewer:
        s.send_messages(ServiceBusMessage("slow"))
        with c.get_queue_receiver(q) as r:
            (m,) = take(r, 1)
            first = m.locked_until_utc
            renewer.register(r, m, max_lock_renewal_duration=10)
            until(lambda: m.locked_until_utc > first + datetime.timedelta(seconds=1))
            while now() < first + datetime.timedelta(milliseconds=100):
                time.sleep(0.05)
            r.complete_message(m)  # the lock that it came with has run out
