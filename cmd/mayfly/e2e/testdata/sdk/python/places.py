"""Topics and subscriptions, forwarding, entities that delete themselves."""

import datetime
import urllib.error

from azure.servicebus import ServiceBusMessage
from azure.servicebus.exceptions import ServiceBusAuthenticationError

from harness import bodies, case, equal, raises, standard, take, until


@case
def topic_and_subscriptions():
    t = standard.topic("py-topic", "a", "b")
    with standard.client() as c, c.get_topic_sender(t) as s:
        s.send_messages([ServiceBusMessage("x"), ServiceBusMessage("y")])
        for name in ("a", "b"):
            with c.get_subscription_receiver(t, name) as r:
                got = take(r, 2)
                equal(bodies(got), ["x", "y"])
                r.complete_message(got[0])
                r.dead_letter_message(got[1], reason=name)
                with c.get_subscription_receiver(t, name, sub_queue="deadletter") as dead:
                    (m,) = take(dead, 1)
                    equal(m.dead_letter_reason, name)


@case
def scheduled_in_a_topic():
    t = standard.topic("py-topic-scheduled", "s")
    with standard.client() as c, c.get_topic_sender(t) as s, c.get_subscription_receiver(t, "s") as r:
        later = datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(hours=1)
        numbers = s.schedule_messages(ServiceBusMessage("never"), later)
        s.cancel_scheduled_messages(numbers)
        s.schedule_messages(ServiceBusMessage("soon"), datetime.datetime.now(datetime.timezone.utc))
        equal(bodies(take(r, 1)), ["soon"])


@case
def rules_select_and_act():
    t = standard.topic("py-rules")
    standard.make(
        "subscription", t + "/Subscriptions/dear",
        rules=[{"name": "dear", "filter": "price > 10 AND sys.Label = 'x'", "action": "SET seen = 'yes'; SET sys.Label = 'y'"}],
    )
    standard.make("subscription", t + "/Subscriptions/exact", rules=[{"name": "c", "correlation": {"CorrelationId": "c1"}}])
    with standard.client() as c, c.get_topic_sender(t) as s:
        s.send_messages(ServiceBusMessage("cheap", subject="x", application_properties={"price": 5}, correlation_id="c1"))
        s.send_messages(ServiceBusMessage("dear", subject="x", application_properties={"price": 15}, correlation_id="c2"))
        with c.get_subscription_receiver(t, "dear") as r:
            (m,) = take(r, 1)
            equal((bodies([m]), m.subject, m.application_properties), (["dear"], "y", {b"price": 15, b"seen": b"yes", b"RuleName": b"dear"}))
            equal(r.peek_messages(sequence_number=m.sequence_number + 1), [])
        with c.get_subscription_receiver(t, "exact") as r:
            equal(bodies(take(r, 1)), ["cheap"])


@case
def forwarding():
    last = standard.queue("py-forward-to")
    first = standard.queue("py-forward-from", ForwardTo=last)
    with standard.client() as c, c.get_queue_sender(first) as s, c.get_queue_receiver(last) as r:
        with c.get_queue_sender(last) as direct:
            direct.send_messages(ServiceBusMessage("first"))
        s.send_messages(ServiceBusMessage("x"))
        d, m = take(r, 2)
        equal((bodies([d]), d.sequence_number, d.enqueued_sequence_number), (["first"], 1, None))
        equal((bodies([m]), m.sequence_number, m.enqueued_sequence_number), (["x"], 2, 1))
        r.complete_message(m)


@case
def deletes_itself_when_idle():
    q = standard.queue("py-idle", AutoDeleteOnIdle="PT1S")

    def gone():
        try:
            standard.call("GET", "/entities/" + q)
        except urllib.error.HTTPError as e:
            return e.code == 404
        return False

    until(gone)
    with standard.client() as c, raises(ServiceBusAuthenticationError), c.get_queue_sender(q):  # see nothing_of_that_name
        pass


@case
def names_of_every_kind():
    q = standard.queue("py/Deep/path.with-all_of~it")
    with standard.client() as c, c.get_queue_sender(q.upper()) as s:
        s.send_messages(ServiceBusMessage("x"))
        with c.get_queue_receiver(q.lower()) as r:
            equal(bodies(take(r, 1)), ["x"])
