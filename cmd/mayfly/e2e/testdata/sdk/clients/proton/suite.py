"""Qpid Proton, a plain client of AMQP 1.0: no SDK, no $cbs, SASL ANONYMOUS."""

import sys
import threading
import time
import uuid

import harness
from harness import call, case, equal, queue, raises, topic
from proton import Delivery, Described, Link, Message, Timeout, symbol, timestamp, ulong
from proton.handlers import MessagingHandler, TransactionHandler
from proton.reactor import AtMostOnce, Container, Copy, Filter, LinkOption, ReceiverOption, Selector
from proton.utils import BlockingConnection, LinkDetached, SendException


class Connected:
    """A connection that is closed at the end of a block."""

    def __init__(self, **options):
        self.options = options

    def __enter__(self):
        self.c = BlockingConnection("amqp://" + harness.AMQP, timeout=15, allowed_mechs="ANONYMOUS", **self.options)
        return self.c

    def __exit__(self, *_):
        self.c.close()


def take(receiver, n, settle=True):
    got = []
    for _ in range(n):
        got.append(receiver.receive(timeout=15))
        if settle:
            receiver.accept()
    return got


def nothing(receiver, wait=0.4):
    raises(Timeout, lambda: receiver.receive(timeout=wait))


def counts(path):
    return {k: n for k, n in call("GET", "/entities/" + path)["counts"].items() if n}


def filters(receiver):
    """Returns the names of the filters that the server says are in force."""
    data = receiver.link.remote_source.filter
    data.rewind()
    if data.next() is None:
        return []
    return [str(name) for name in data.get_object() or {}]


@case
def a_message_keeps_what_it_has():
    q = queue("keeps")
    with Connected() as c:
        s, r = c.create_sender(q), c.create_receiver(q)
        s.send(
            Message(
                body={"a": [1, "b", None, 1.5, True]},
                id="id",
                subject="subject",
                correlation_id="correlation",
                content_type="text/plain",
                reply_to="answers",
                priority=8,
                durable=True,
                ttl=60.0,
                properties={"n": 1, "f": 1.5, "s": "x", "b": True, "u": uuid.UUID(int=7), "t": timestamp(1000)},
                annotations={symbol("x-own"): "kept"},
            )
        )
        [m] = take(r, 1)
        equal(m.body, {"a": [1, "b", None, 1.5, True]})
        equal((m.id, m.subject, m.correlation_id, m.content_type, m.reply_to), ("id", "subject", "correlation", "text/plain", "answers"))
        equal((m.priority, m.durable, m.ttl, m.delivery_count), (8, True, 60.0, 0))
        equal(m.properties, {"n": 1, "f": 1.5, "s": "x", "b": True, "u": uuid.UUID(int=7), "t": timestamp(1000)})
        equal(m.annotations["x-own"], "kept")
        equal(m.annotations["x-opt-sequence-number"], 1)


@case
def bodies_and_ids_of_every_type():
    q = queue("types")
    with Connected() as c:
        s, r = c.create_sender(q), c.create_receiver(q)
        for body in ("text", b"bytes", 5, [1, "a"], {"a": 1}, None, uuid.UUID(int=9), 1.5, True, symbol("s"), "x" * 60_000):
            s.send(Message(body=body))
            [m] = take(r, 1)
            got = bytes(m.body) if isinstance(m.body, memoryview) else m.body
            equal((type(got), got), (type(body), body))
        for id_ in ("text", uuid.UUID(int=3), ulong(7)):
            s.send(Message(body="m", id=id_, correlation_id=id_))
            [m] = take(r, 1)
            equal((m.id, m.correlation_id), (id_, id_))


@case
def each_outcome():
    q = queue("outcomes")
    with Connected() as c:
        s, r = c.create_sender(q), c.create_receiver(q, credit=1)
        s.send(Message(body="m"))
        take(r, 1, settle=False)
        r.release(delivered=False)
        [m] = take(r, 1, settle=False)
        equal(m.delivery_count, 0)
        r.release(delivered=True)
        [m] = take(r, 1, settle=False)
        equal(m.delivery_count, 1)
        r.reject()
        d = c.create_receiver(q + "/$DeadLetterQueue", credit=1)
        [m] = take(d, 1)
        equal(m.body, "m")
        nothing(r)
    equal(counts(q), {})


@case
def the_last_delivery_ends_in_the_dead_letter_queue():
    q = queue("last", MaxDeliveryCount=3)
    with Connected() as c:
        s, r = c.create_sender(q), c.create_receiver(q, credit=1)
        s.send(Message(body="poison"))
        for n in range(3):
            [m] = take(r, 1, settle=False)
            equal(m.delivery_count, n)
            r.release(delivered=True)
        [m] = take(c.create_receiver(q + "/$DeadLetterQueue", credit=1), 1)
        equal((m.body, m.properties["DeadLetterReason"]), ("poison", "MaxDeliveryCountExceeded"))


@case
def messages_expire():
    q = queue("expires", DeadLetteringOnMessageExpiration=True)
    with Connected() as c:
        c.create_sender(q).send(Message(body="short", ttl=0.2))
        [m] = take(c.create_receiver(q + "/$DeadLetterQueue", credit=1), 1)
        equal((m.body, m.properties["DeadLetterReason"]), ("short", "TTLExpiredException"))
        nothing(c.create_receiver(q, credit=1))


@case
def a_schedule_by_annotation():
    q = queue("scheduled")
    with Connected() as c:
        s, r = c.create_sender(q), c.create_receiver(q, credit=1)
        at = int(1000 * time.time()) + 1500
        s.send(Message(body="later", annotations={symbol("x-opt-scheduled-enqueue-time"): timestamp(at)}))
        equal(counts(q), {"scheduled": 1})
        [m] = take(r, 1)
        equal((m.body, m.annotations["x-opt-enqueued-time"] >= at), ("later", True))


@case
def settled_before_they_are_sent():
    q = queue("settled")
    with Connected() as c:
        s = c.create_sender(q, options=AtMostOnce())
        for i in range(10):
            s.send(Message(body=i))
        r = c.create_receiver(q, options=AtMostOnce(), credit=10)
        equal([m.body for m in take(r, 10, settle=False)], list(range(10)))
    equal(counts(q), {})


@case
def the_receiver_settles_second():
    class Second(ReceiverOption):
        def apply(self, link):
            link.rcv_settle_mode = Link.RCV_SECOND

    q = queue("second")
    with Connected() as c:
        c.create_sender(q).send(Message(body="m"))
        r = c.create_receiver(q, credit=1, options=Second())
        take(r, 1, settle=False)
        d = r.fetcher.unsettled[0]
        d.update(Delivery.ACCEPTED)
        c.wait(lambda: d.settled, timeout=10)
        equal(d.remote_state, Delivery.ACCEPTED)
        d.settle()
    equal(counts(q), {})


@case
def a_selector():
    """Issue 24, number 11."""
    q = queue("selector")
    with Connected() as c:
        s = c.create_sender(q)
        for region in ("us", "eu", "us", "eu"):
            s.send(Message(body=region, properties={"region": region}))
        r = c.create_receiver(q, options=Selector("region = 'eu'"), credit=10)
        equal(len(filters(r)), 1)
        equal([m.body for m in take(r, 2)], ["eu", "eu"])
        nothing(r)
        equal([m.body for m in take(c.create_receiver(q, name="all", credit=10), 2)], ["us", "us"])


@case
def an_unknown_filter_is_not_said_to_be_in_force():
    """Issue 24, number 11."""
    q = queue("unknown-filter")
    with Connected() as c:
        name = symbol("example:unknown")
        r = c.create_receiver(q, options=Filter({name: Described(name, "v")}))
        equal(filters(r), [])


@case
def browsing_locks_nothing():
    """Issue 24, number 12."""
    q = queue("browsing")
    with Connected() as c:
        s = c.create_sender(q)
        for i in range(3):
            s.send(Message(body=i))
        r = c.create_receiver(q, options=Copy(), credit=10)
        equal([m.body for m in take(r, 3, settle=False)], [0, 1, 2])
        equal(counts(q), {"active": 3})
        equal([(m.body, m.delivery_count) for m in take(c.create_receiver(q, name="taking", credit=3), 3)], [(0, 0), (1, 0), (2, 0)])
    equal(counts(q), {})


@case
def sessions_by_group_and_filter():
    q = queue("sessions", RequiresSession=True)
    name = symbol("com.microsoft:session-filter")
    with Connected() as c:
        s = c.create_sender(q)
        for group in ("a", "b"):
            for i in range(3):
                s.send(Message(body=f"{group}{i}", group_id=group))
        r = c.create_receiver(q, options=Filter({name: "b"}), credit=10)
        got = take(r, 3)
        equal([(m.group_id, m.body) for m in got], [("b", "b0"), ("b", "b1"), ("b", "b2")])
        nothing(r)
        raises(LinkDetached, lambda: c.create_receiver(q))
    equal(counts(q), {"active": 3})


@case
def topics_and_subscriptions():
    t = topic("topic", "s")
    with Connected() as c:
        r = c.create_receiver(t + "/Subscriptions/s", credit=1)
        c.create_sender(t).send(Message(body="m"))
        equal([m.body for m in take(r, 1)], ["m"])
        raises(LinkDetached, lambda: c.create_receiver(t))
        raises(LinkDetached, lambda: c.create_sender(t + "/Subscriptions/s"))
        raises(LinkDetached, lambda: c.create_sender("nowhere"), "amqp:not-found")


@case
def dynamic_nodes_are_refused():
    """Issue 24, number 20."""

    class Dynamic(LinkOption):
        def apply(self, link):
            link.target.dynamic = True

    with Connected() as c:
        raises(LinkDetached, lambda: c.create_receiver(None, dynamic=True), "Dynamic nodes")
        raises(LinkDetached, lambda: c.create_sender(None, options=Dynamic()), "Dynamic nodes")


@case
def large_messages_in_small_frames():
    q = queue("large")
    for options in ({}, {"max_frame_size": 512}):
        with Connected(**options) as c:
            s, r = c.create_sender(q), c.create_receiver(q, credit=1)
            body = bytes(range(256)) * 800
            s.send(Message(body=body))
            equal([m.body == body for m in take(r, 1)], [True])
    with Connected() as c:
        raises((SendException, LinkDetached), lambda: c.create_sender(q).send(Message(body=b"x" * 400_000)))


@case
def draining():
    q = queue("draining")
    with Connected() as c:
        s, r = c.create_sender(q), c.create_receiver(q, credit=0)
        for i in range(3):
            s.send(Message(body=i))
        r.link.drain(10)
        c.wait(lambda: r.link.credit == 0, timeout=10)
        equal([m.body for m in take(r, 3)], [0, 1, 2])  # which gives credit where none is left
        s.send(Message(body="after"))
        equal([m.body for m in take(r, 1)], ["after"])


@case
def a_quiet_connection_is_kept():
    q = queue("heartbeat")
    with Connected(heartbeat=1) as c:
        s, end = c.create_sender(q), time.monotonic() + 3
        raises(Timeout, lambda: c.wait(lambda: time.monotonic() > end + 9, timeout=3))
        s.send(Message(body="still"))
    equal(counts(q), {"active": 1})


class Replacing(MessagingHandler, TransactionHandler):
    """Replaces a message of a queue within transactions: the first is rolled back, the
    second is committed."""

    def __init__(self, queue):
        super().__init__(prefetch=0, auto_accept=False)
        self.queue, self.endings, self.rounds, self.error = queue, [], 0, None

    def on_start(self, event):
        c = event.container.connect("amqp://" + harness.AMQP, allowed_mechs="ANONYMOUS", reconnect=False)
        self.container, self.connection = event.container, c
        self.receiver = self.container.create_receiver(c, self.queue)
        self.sender = self.container.create_sender(c, self.queue)
        self.container.declare_transaction(c, handler=self)

    def on_transaction_declared(self, event):
        self.transaction = event.transaction
        self.receiver.flow(1)

    def on_message(self, event):
        self.transaction.send(self.sender, Message(body=event.message.body + "!"))
        self.transaction.accept(event.delivery)
        self.rounds += 1
        (self.transaction.abort if self.rounds == 1 else self.transaction.commit)()

    def on_transaction_aborted(self, event):
        self.endings.append("aborted")
        self.container.declare_transaction(self.connection, handler=self)

    def on_transaction_committed(self, event):
        self.endings.append("committed")
        self.connection.close()

    def on_transaction_declare_failed(self, event):
        self.error = "declare"
        self.connection.close()

    def on_transaction_commit_failed(self, event):
        self.error = "commit"
        self.connection.close()


@case
def a_transaction_replaces_a_message():
    """Issue 24, number 3: what the client has not settled stays its own after a
    rollback, and is its to release."""
    q = queue("replaced")
    with Connected() as c:
        c.create_sender(q).send(Message(body="m"))
    replacing = Replacing(q)
    container = Container(replacing)
    work = threading.Thread(target=container.run, daemon=True)
    work.start()
    work.join(20)
    if work.is_alive():
        raise AssertionError(f"it is not over: {replacing.endings}")
    equal((replacing.error, replacing.endings), (None, ["aborted", "committed"]))
    equal(counts(q), {"active": 1})
    with Connected() as c:
        equal([m.body for m in take(c.create_receiver(q, credit=1), 1)], ["m!"])


harness.run(set(sys.argv[1:]))
