"""Celery and kombu, whose transport azureservicebus stands on azure-servicebus."""

import os
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
from contextlib import contextmanager

import harness
import way
from harness import call, case, equal, raises, until
from kombu import Connection, Consumer, Exchange, Producer, Queue

TASKS = """
from app import add, flaky
for i in range(20): add.delay(i, i, 1)
flaky.delay(7)
add.apply_async((100, 1, 1), countdown=2)
add.apply_async((101, 1, 1), expires=0.001)
"""


class Shop:
    """Workers and senders of an application with queues and a file of its own."""

    def __init__(self, dir, prefix, lock):
        self.out = os.path.join(dir, prefix + "out")
        self.queue = prefix + "celery"
        self.env = dict(os.environ, OUT=self.out, PREFIX=prefix, LOCK=str(lock))
        self.workers = []

    def worker(self):
        quiet = ["--without-gossip", "--without-mingle", "--without-heartbeat", "--loglevel", "ERROR"]
        log = open(self.out + ".log", "ab")
        args = [sys.executable, "-B", "-m", "celery", "-A", "app", "worker", "--pool", "solo", *quiet]
        worker = subprocess.Popen(args, env=self.env, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        self.workers.append(worker)
        return worker

    def run(self, program):
        done = subprocess.run([sys.executable, "-B", "-c", program], env=self.env, stdin=subprocess.DEVNULL, capture_output=True, timeout=60)
        if done.returncode:
            raise AssertionError(done.stderr.decode())
        return done.stdout.decode().split()

    def notes(self):
        try:
            with open(self.out) as f:
                return f.read().splitlines()
        except FileNotFoundError:
            return []

    def count(self):
        """Returns how many messages the queue of tasks holds."""
        return sum(call("GET", "/entities/" + self.queue)["counts"].values())


@contextmanager
def shop(prefix, lock=30):
    with tempfile.TemporaryDirectory() as dir:
        s = Shop(dir, prefix, lock)
        try:
            yield s
        finally:
            for w in s.workers:
                w.kill()
                w.wait()


@case
def tasks_are_done_retried_delayed_and_expire():
    with shop("tasks-") as s:
        s.run(TASKS)
        s.worker()
        want = [f"add {i} {i + 1}" for i in range(20)] + ["add 100 2"] + [f"flaky 7 {n}" for n in range(3)]
        until(lambda: len(s.notes()) >= len(want), 40)
        until(lambda: s.count() == 0)
        equal(sorted(s.notes()), sorted(want))
        equal([n for n in s.notes() if n.startswith("flaky")], want[-3:])
        equal([n for n in s.notes() if n.startswith("add") and n != "add 100 2"], want[:20])


@case
def a_task_of_a_killed_worker_is_done_by_the_next():
    with shop("killed-", lock=5) as s:
        s.run("from app import slow; slow.delay()")
        first = s.worker()
        until(lambda: s.notes() == ["begin"], 40)
        first.kill()
        first.wait()
        equal(s.count(), 1)
        open(s.out + ".quick", "w").close()
        s.worker()
        until(lambda: s.notes() == ["begin", "begin", "end"], 40)
        until(lambda: s.count() == 0)


@case
def tasks_are_counted_and_purged():
    with shop("purged-") as s:
        got = s.run(
            "from app import app, add\n"
            "for i in range(25): add.delay(i, i, 1)\n"
            "def size():\n"
            "    with app.connection_for_read() as c: return c.default_channel._size('celery')\n"
            "print(size())\n"
            "for _ in range(20):\n"
            "    app.control.purge()\n"
            "    if size() == 0: break\n"
            "print(size())\n"
        )
        # A purge by kombu ends when no message comes for 0.2 s, which happens on a busy machine.
        equal(got, ["25", "0"])
        equal(s.count(), 0)


def connection(**options):
    return Connection(way.BROKER, transport_options={"wait_time_seconds": 1, "peek_lock_seconds": 30, **options})


@case
def a_simple_queue():
    with connection() as c:
        q = c.SimpleQueue("simple.of/kombu")  # an entity called simple.of_kombu
        for i in range(5):
            q.put({"n": i}, headers={"h": i})
        equal(q.qsize(), 5)
        equal(call("GET", "/entities/simple.of_kombu")["counts"]["active"], 5)
        for i in range(5):
            m = q.get(timeout=10)
            equal((m.payload, m.headers), ({"n": i}, {"h": i}))
            m.ack()
        until(lambda: q.qsize() == 0)
        q.put({"text": "x" * 180_000})
        m = q.get(timeout=10)
        equal(m.payload, {"text": "x" * 180_000})
        m.ack()
        raises(Exception, lambda: q.put({"text": "x" * 400_000}), "size")
        q.close()


@case
def a_message_that_was_requeued_comes_again():
    with connection(peek_lock_seconds=5) as c:
        q = c.SimpleQueue("requeued")
        q.put({"n": 1})
        m = q.get(timeout=10)
        m.requeue()  # kombu leaves the message to its lock
        m = q.get(timeout=20)
        equal(m.payload, {"n": 1})
        equal(m.delivery_info["azure_message"].delivery_count, 1)
        m.ack()
        until(lambda: q.qsize() == 0)
        q.close()


@case
def a_topic_exchange():
    with connection() as c:
        exchange = Exchange("orders", type="topic")
        all_, new = Queue("orders.all", exchange, "order.*"), Queue("orders.new", exchange, "order.new")
        channel = c.channel()
        for q in (all_, new):
            q(channel).declare()
        producer = Producer(channel, exchange)
        producer.publish({"n": 1}, routing_key="order.new")
        producer.publish({"n": 2}, routing_key="order.old")
        seen = []

        def note(body, m):
            seen.append((m.delivery_info["azure_queue_name"], m.delivery_info["routing_key"], body["n"]))
            m.ack()

        with Consumer(channel, [all_, new], callbacks=[note]):
            end = time.monotonic() + 20
            while len(seen) < 3 and time.monotonic() < end:
                try:
                    c.drain_events(timeout=2)
                except socket.timeout:
                    pass
        equal(sorted(seen), [("orders.all", "order.new", 1), ("orders.all", "order.old", 2), ("orders.new", "order.new", 1)])
        for q in (all_, new):
            q(channel).delete()
            raises(urllib.error.HTTPError, lambda q=q: call("GET", "/entities/" + q.name), "404")


harness.run(set(sys.argv[1:]))
