"""What a receiver does with what it has: settle, renew, defer, peek."""

import datetime

from azure.servicebus import ServiceBusMessage, ServiceBusSubQueue
from azure.servicebus.exceptions import MessageAlreadySettled, MessageLockLostError, MessageNotFoundError

from harness import bodies, case, case_alone, equal, raises, restart, standard, take, until


def three(name, *texts, **properties):
    q = standard.queue(name, **properties)
    c = standard.client()
    with c.get_queue_sender(q) as s:
        s.send_messages([ServiceBusMessage(t) for t in texts])
    return q, c


@case
def complete():
    q, c = three("py-complete", "a", "b")
    with c, c.get_queue_receiver(q) as r:
        a, b = take(r, 2)
        equal(len(str(a.lock_token)), 36)
        equal(a.lock_token != b.lock_token, True)
        r.complete_message(a)
        with raises(MessageAlreadySettled):
            r.complete_message(a)
        r.complete_message(b)
        equal(r.peek_messages(), [])


@case
def abandon():
    q, c = three("py-abandon", "a")
    with c, c.get_queue_receiver(q) as r:
        (a,) = take(r, 1)
        r.abandon_message(a)
        (a,) = take(r, 1)
        equal(a.delivery_count, 1)
        r.complete_message(a)


@case
def too_many_tries():
    q, c = three("py-tries", "a", MaxDeliveryCount=2)
    with c, c.get_queue_receiver(q) as r:
        for _ in range(2):
            (a,) = take(r, 1)
            r.abandon_message(a)
        with c.get_queue_receiver(q, sub_queue=ServiceBusSubQueue.DEAD_LETTER) as dead:
            (a,) = take(dead, 1)
            equal(a.dead_letter_reason, "MaxDeliveryCountExceeded")
            equal(a.delivery_count, 2)  # sdk-demands 20
            dead.abandon_message(a)
            (a,) = take(dead, 1)
            equal(a.delivery_count, 2)
            dead.complete_message(a)


@case
def dead_letter():
    q, c = three("py-dead", "a", "b")
    with c, c.get_queue_receiver(q) as r:
        a, b = take(r, 2)
        r.dead_letter_message(a, reason="why", error_description="because")
        r.dead_letter_message(b)
        with c.get_queue_receiver(q, sub_queue="deadletter") as dead:
            a, b = take(dead, 2)
            equal((a.dead_letter_reason, a.dead_letter_error_description), ("why", "because"))
            equal((b.dead_letter_reason, b.dead_letter_error_description), (None, None))
            equal(a.application_properties[b"DeadLetterReason"], b"why")
            equal(bodies([a, b]), ["a", "b"])
            dead.complete_message(a)
            dead.defer_message(b)
            (b,) = dead.receive_deferred_messages(b.sequence_number)
            dead.complete_message(b)


@case
def defer():
    q, c = three("py-defer", "a", "b", "c", "d")
    with c, c.get_queue_receiver(q) as r:
        got = take(r, 4)
        for m in got:
            r.defer_message(m)
        equal([m.state.name for m in r.peek_messages(max_message_count=10, sequence_number=1)], ["DEFERRED"] * 4)
        numbers = [m.sequence_number for m in got]
        equal(r.receive_messages(max_wait_time=0.3), [])
        a, b, d, e = r.receive_deferred_messages(numbers)
        equal(bodies([a, b, d, e]), ["a", "b", "c", "d"])
        equal(a.state.name, "DEFERRED")
        r.complete_message(a)
        r.abandon_message(b)
        r.dead_letter_message(d, reason="r", error_description="d")
        r.renew_message_lock(e)
        r.defer_message(e)
        (b,) = r.receive_deferred_messages(numbers[1])
        equal(b.delivery_count > 0, True)
        r.complete_message(b)
        with raises(MessageNotFoundError):
            r.receive_deferred_messages(numbers[:2])
        with c.get_queue_receiver(q, sub_queue="deadletter") as dead:
            (d,) = take(dead, 1)
            equal(d.dead_letter_reason, "r")
        with c.get_queue_receiver(q, receive_mode="receiveanddelete") as gone:  # sdk-demands 27
            equal(bodies(gone.receive_deferred_messages([numbers[3]])), ["d"])
        equal(r.peek_messages(), [])


@case
def peek():
    q, c = three("py-peek", *[f"{i}" for i in range(30)])
    with c, c.get_queue_receiver(q) as r:
        equal(bodies(r.peek_messages(max_message_count=5)), ["0", "1", "2", "3", "4"])
        equal(bodies(r.peek_messages(max_message_count=3)), ["5", "6", "7"])
        equal(bodies(r.peek_messages(max_message_count=2, sequence_number=21)), ["20", "21"])
        (m,) = r.peek_messages(sequence_number=1)
        equal((m.delivery_count, m.lock_token, m.locked_until_utc), (0, None, None))
        equal(r.peek_messages(sequence_number=31), [])
        equal(len(r.peek_messages(max_message_count=1000, sequence_number=1)), 30)


@case
def renew_lock():
    q, c = three("py-renew", "a", LockDuration="PT30S")
    with c, c.get_queue_receiver(q) as r:
        (a,) = take(r, 1)
        first = a.locked_until_utc
        new = until(lambda: (lambda at: at if at > first else None)(r.renew_message_lock(a)))
        equal(new - first < datetime.timedelta(seconds=20), True)
        equal(a.locked_until_utc, new)
        r.complete_message(a)


@case
def lock_lost():
    q, c = three("py-lost", "a", LockDuration="PT0.3S")
    with c, c.get_queue_receiver(q) as r:
        (a,) = take(r, 1)
        with c.get_queue_receiver(q) as other:
            (again,) = take(other, 1)
            equal(again.delivery_count, 1)
            # The client refuses to settle what it thinks is lost; the server
            # must say so too, of a lock that looks good to the client.
            far = datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(hours=1)
            a._expiry = far
            with raises(MessageLockLostError):
                r.complete_message(a)
            with raises(MessageLockLostError):
                r.renew_message_lock(a)


@case
def locks_outlive_links():
    q, c = three("py-outlive", "a", "b", LockDuration="PT1M")
    with c:
        r = c.get_queue_receiver(q)
        a, b = take(r, 2)
        r.close()
        with c.get_queue_receiver(q) as other:
            equal(other.receive_messages(max_wait_time=0.3), [])  # sdk-demands 3
            a._receiver = b._receiver = other
            other.complete_message(a)  # by $management: the link that it came on is gone
            other.renew_message_lock(b)


@case
def locks_outlive_updates():
    q, c = three("py-updated", "a", "b", LockDuration="PT1M")
    with c, c.get_queue_receiver(q) as r, c.get_queue_sender(q) as s:
        a, b = take(r, 2)
        standard.change(q, MaxDeliveryCount=5, LockDuration="PT30S", UserMetadata="changed")  # sdk-demands 7
        equal(bodies(r.peek_messages(max_message_count=10, sequence_number=1)), ["a", "b"])
        r.renew_message_lock(a)
        r.complete_message(a)
        r.abandon_message(b)
        s.send_messages(ServiceBusMessage("c"))
        equal(bodies(take(r, 2)), ["b", "c"])


@case_alone
def after_a_restart():
    q, c = three("py-restart", "a", "b", LockDuration="PT1M")
    c.close()
    with standard.client(retry_total=5, retry_backoff_factor=0.1) as c, c.get_queue_sender(q) as s, c.get_queue_receiver(q) as r:
        (a,) = take(r, 1)
        r.complete_message(a)
        restart()
        s.send_messages(ServiceBusMessage("c"))
        got = take(r, 2)
        equal(bodies(got), ["b", "c"])
        for m in got:
            r.complete_message(m)


@case
def sent_while_waiting():
    import threading

    q, c = three("py-waiting")
    with c, c.get_queue_receiver(q) as r, c.get_queue_sender(q) as s:
        got = []
        waiter = threading.Thread(target=lambda: got.extend(r.receive_messages(max_wait_time=20)))
        waiter.start()
        s.send_messages(ServiceBusMessage("x"))
        waiter.join()
        equal(bodies(got), ["x"])
