"""The kind of error that the SDK makes of each condition, and what still works afterwards."""

import urllib.error

from azure.servicebus import ServiceBusMessage
from azure.servicebus.exceptions import (
    MessageNotFoundError, MessageSizeExceededError, MessagingEntityDisabledError, ServiceBusError,
    ServiceBusAuthenticationError,
    ServiceBusQuotaExceededError,
)

from harness import bodies, case, equal, raises, premium, standard, take


@case
def nothing_of_that_name():
    # $cbs says 404 (sdk-demands 1), and this SDK calls whatever $cbs refuses so.
    with standard.client() as c:
        with raises(ServiceBusAuthenticationError), c.get_queue_sender("py-nothing"):
            pass
        with raises(ServiceBusAuthenticationError), c.get_queue_receiver("py-nothing"):
            pass
        with raises(ServiceBusAuthenticationError), c.get_queue_receiver("py-nothing", session_id="x"):
            pass
        t = standard.topic("py-not-found")
        with raises(ServiceBusAuthenticationError), c.get_subscription_receiver(t, "nothing"):
            pass


@case
def too_large():
    q = standard.queue("py-too-large")
    with standard.client() as c, c.get_queue_sender(q) as s, c.get_queue_receiver(q) as r:
        with raises(MessageSizeExceededError):
            s.send_messages(ServiceBusMessage("x" * 1_000_000))  # sdk-demands 26
        batch = s.create_message_batch()
        with raises(MessageSizeExceededError):
            batch.add_message(ServiceBusMessage("x" * 300_000))
        s.send_messages(ServiceBusMessage("small"))
        equal(bodies(take(r, 1)), ["small"])


@case
def disabled():
    q = standard.queue("py-disabled")
    standard.change(q, Status="Disabled")
    with standard.client() as c:
        with raises(MessagingEntityDisabledError), c.get_queue_sender(q) as s:
            s.send_messages(ServiceBusMessage("x"))
        with raises(MessagingEntityDisabledError), c.get_queue_receiver(q) as r:
            r.receive_messages(max_wait_time=1)
        standard.change(q, Status="ReceiveDisabled")
        with c.get_queue_sender(q) as s:
            s.send_messages(ServiceBusMessage("x"))
        standard.change(q, Status="Active")
        with c.get_queue_receiver(q) as r:
            equal(bodies(take(r, 1)), ["x"])


@case
def nothing_to_cancel():
    q = standard.queue("py-nothing-to-cancel")
    with standard.client() as c, c.get_queue_sender(q) as s, c.get_queue_receiver(q) as r:
        with raises(MessageNotFoundError):
            s.cancel_scheduled_messages([77])
        with raises(MessageNotFoundError):
            r.receive_deferred_messages([77])
        s.send_messages(ServiceBusMessage("still"))
        equal(bodies(take(r, 1)), ["still"])


@case
def full():
    q = premium.queue("py-full", MaxSizeInMegabytes=1)
    with premium.client() as c, c.get_queue_sender(q) as s:
        with raises(ServiceBusQuotaExceededError):
            for _ in range(8):
                s.send_messages(ServiceBusMessage("x" * 200_000))


@case
def no_such_place():
    t = standard.topic("py-wrong-place", "s")
    with standard.client() as c:
        with raises(ServiceBusError), c.get_queue_receiver(t):
            pass
        with raises(ServiceBusError), c.get_queue_sender(t + "/Subscriptions/s"):
            pass


@case
def a_name_is_taken():
    q = standard.queue("py-taken")
    with raises(urllib.error.HTTPError):
        standard.queue(q)
