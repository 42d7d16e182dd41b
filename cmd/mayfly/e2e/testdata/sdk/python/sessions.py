"""Sessions: accepted by name and next, kept, renewed, lost, listed."""

import datetime
import threading

from azure.servicebus import NEXT_AVAILABLE_SESSION, ServiceBusMessage
from azure.servicebus.exceptions import (
    MessageNotFoundError, OperationTimeoutError, ServiceBusError, SessionCannotBeLockedError, SessionLockLostError,
)

from harness import bodies, case, equal, raises, standard, take, until


def session_queue(name, *ids, **properties):
    q = standard.queue(name, RequiresSession=True, **properties)
    c = standard.client()
    if ids:
        with c.get_queue_sender(q) as s:
            s.send_messages([ServiceBusMessage(f"{i}-{n}", session_id=i) for i in ids for n in range(2)])
    return q, c


@case
def named_session():
    q, c = session_queue("py-session", "a", "b")
    with c, c.get_queue_receiver(q, session_id="b") as r:
        equal(r.session.session_id, "b")
        got = take(r, 2)
        equal(bodies(got), ["b-0", "b-1"])
        equal(got[0].session_id, "b")
        r.complete_message(got[0])
        r.abandon_message(got[1])
        (m,) = take(r, 1)
        equal(m.delivery_count, 1)
        r.dead_letter_message(m, reason="x")
        with c.get_queue_receiver(q, sub_queue="deadletter") as dead:
            (m,) = take(dead, 1)
            equal((m.session_id, m.dead_letter_reason), ("b", "x"))


@case
def next_session():
    q, c = session_queue("py-session-next", "a", "b")
    with c:
        with c.get_queue_receiver(q, session_id=NEXT_AVAILABLE_SESSION, max_wait_time=10) as r:
            with c.get_queue_receiver(q, session_id=NEXT_AVAILABLE_SESSION, max_wait_time=10) as r2:
                equal([r.session.session_id, r2.session.session_id], ["a", "b"])
                equal(bodies(take(r2, 2)), ["b-0", "b-1"])
                equal(bodies(take(r, 2)), ["a-0", "a-1"])


@case
def next_session_is_waited_for():
    q, c = session_queue("py-session-wait")
    with c, c.get_queue_sender(q) as s:
        got = []

        def accept():
            with c.get_queue_receiver(q, session_id=NEXT_AVAILABLE_SESSION, max_wait_time=30) as r:
                got.append(r.session.session_id)

        t = threading.Thread(target=accept)
        t.start()
        s.send_messages(ServiceBusMessage("x", session_id="late"))
        t.join()
        equal(got, ["late"])


@case
def no_session_in_time():
    q, c = session_queue("py-session-timeout")
    with c, raises(OperationTimeoutError):
        with c.get_queue_receiver(q, session_id=NEXT_AVAILABLE_SESSION, max_wait_time=1):
            pass


@case
def session_is_taken():
    q, c = session_queue("py-session-taken", "a")
    with c:
        with c.get_queue_receiver(q, session_id="a"):
            with raises(SessionCannotBeLockedError), c.get_queue_receiver(q, session_id="a"):
                pass
        with c.get_queue_receiver(q, session_id="a") as r:  # given back with the link
            equal(bodies(take(r, 2)), ["a-0", "a-1"])


@case
def sessions_outlive_updates():
    q, c = session_queue("py-session-updated", "a")
    with c, c.get_queue_receiver(q, session_id="a") as r:
        one, two = take(r, 2)
        standard.change(q, MaxDeliveryCount=5, LockDuration="PT30S", UserMetadata="changed")  # sdk-demands 7
        equal(bodies(r.peek_messages(max_message_count=10, sequence_number=1)), ["a-0", "a-1"])
        r.session.set_state("kept")
        with raises(SessionCannotBeLockedError), c.get_queue_receiver(q, session_id="a"):
            pass
        r.complete_message(one)
        r.abandon_message(two)
        equal(bodies(take(r, 1)), ["a-1"])


@case
def session_id_of_another_type():
    q, c = session_queue("py-session-number", "5")
    with c, raises(ServiceBusError, "The session filter must be a string"):  # at once, not after a wait for the next session
        with c.get_queue_receiver(q, session_id=5):  # sdk-demands 9
            pass
    with standard.client() as c, c.get_queue_receiver(q, session_id="5") as r:
        equal(bodies(take(r, 2)), ["5-0", "5-1"])


@case
def session_with_an_empty_name():
    q, c = session_queue("py-session-empty")
    with c, c.get_queue_sender(q) as s:
        s.send_messages(ServiceBusMessage("x", session_id=""))  # sdk-demands 10
        with c.get_queue_receiver(q, session_id="") as r:
            equal(r.session.session_id, "")
            (m,) = take(r, 1)
            equal(m.session_id, "")
            r.complete_message(m)


@case
def session_state():
    q, c = session_queue("py-session-state")
    with c, c.get_queue_receiver(q, session_id="s") as r:
        equal(r.session.get_state(), None)
        r.session.set_state("text")
        equal(r.session.get_state(), b"text")
        r.session.set_state(b"")  # sdk-demands 11
        equal(r.session.get_state(), None)
        r.session.set_state(b"\x00\x01")
        r.session.set_state(None)
        equal(r.session.get_state(), None)


@case
def session_renewed():
    q, c = session_queue("py-session-renew", LockDuration="PT20S")
    with c, c.get_queue_receiver(q, session_id="s") as r:
        first = r.session.locked_until_utc
        equal(first > datetime.datetime.now(datetime.timezone.utc), True)
        until(lambda: r.session.renew_lock() > first)
        equal(r.session.locked_until_utc > first, True)


@case
def session_lost():
    q, c = session_queue("py-session-lost", "a", LockDuration="PT0.3S")
    with c, c.get_queue_receiver(q, session_id="a") as r:
        got = take(r, 2)
        with c.get_queue_receiver(q, session_id=NEXT_AVAILABLE_SESSION, max_wait_time=20) as other:
            equal(other.session.session_id, "a")
            r.session._locked_until_utc = datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(hours=1)
            with raises(SessionLockLostError):
                r.complete_message(got[0])
            with raises(SessionLockLostError):
                r.session.get_state()
            with raises(SessionLockLostError):
                r.session.renew_lock()


@case
def deferred_in_a_session():
    q, c = session_queue("py-session-defer", "a")
    with c, c.get_queue_receiver(q, session_id="a") as r:
        one, two = take(r, 2)
        r.defer_message(one)
        r.defer_message(two)
        got = r.receive_deferred_messages([one.sequence_number, two.sequence_number])
        equal(bodies(got), ["a-0", "a-1"])
        r.complete_message(got[0])
        r.abandon_message(got[1])
        equal(bodies(r.peek_messages(sequence_number=1)), ["a-1"])
        with raises(MessageNotFoundError):
            r.receive_deferred_messages([one.sequence_number])


@case
def peek_in_a_session():
    q, c = session_queue("py-session-peek", "a", "b")
    with c, c.get_queue_receiver(q, session_id="b") as r:
        equal(bodies(r.peek_messages(max_message_count=10)), ["b-0", "b-1"])


@case
def scheduled_in_a_session():
    q, c = session_queue("py-session-scheduled")
    soon = datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(milliseconds=200)
    with c, c.get_queue_sender(q) as s:
        s.schedule_messages(ServiceBusMessage("x", session_id="s"), soon)
        with c.get_queue_receiver(q, session_id=NEXT_AVAILABLE_SESSION, max_wait_time=20) as r:
            equal(bodies(take(r, 1)), ["x"])


@case
def sessions_are_listed():
    q, c = session_queue("py-session-list", *[f"s{i:03}" for i in range(120)])
    with c:
        with c.get_queue_receiver(q, session_id="stateful") as r:
            r.session.set_state(b"x")
        equal(sorted(c.list_queue_sessions(q)), [f"s{i:03}" for i in range(120)] + ["stateful"])  # sdk-demands 12
        before = datetime.datetime.now(datetime.timezone.utc) - datetime.timedelta(hours=1)
        equal(list(c.list_queue_sessions(q, state_updated_after=before)), ["stateful"])
        after = datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(hours=1)
        equal(list(c.list_queue_sessions(q, state_updated_after=after)), [])
        t = standard.topic("py-session-list-topic")
        standard.make("subscription", t + "/Subscriptions/s", RequiresSession=True)
        with c.get_topic_sender(t) as s:
            s.send_messages(ServiceBusMessage("x", session_id="only"))
        equal(list(c.list_subscription_sessions(t, "s")), ["only"])


@case
def sessions_and_plain_receivers():
    q, c = session_queue("py-session-plain")
    p = standard.queue("py-session-none")
    with c:
        with raises(ServiceBusError, "requires sessions"), c.get_queue_receiver(q):
            pass
        with raises(ServiceBusError), c.get_queue_receiver(p, session_id="x"):
            pass
        with c.get_queue_sender(q) as s, raises(ServiceBusError):
            s.send_messages(ServiceBusMessage("no session"))
