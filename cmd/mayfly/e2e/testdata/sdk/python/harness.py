"""What the cases share: where the servers are, entities, and how a case is told."""

import json
import os
import sys
import time
import traceback
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

from azure.servicebus import ServiceBusClient

cases = []


def case(f):
    """Marks a function as a case; its name is the case's."""
    cases.append(f)
    return f


alone = set()


def case_alone(f):
    """Marks a case that no other may run beside."""
    alone.add(f)
    return case(f)


class Server:
    """A server under test."""

    def __init__(self, prefix):
        self.amqp = os.environ[prefix + "_AMQP"]
        self.admin = os.environ[prefix + "_ADMIN"]
        self.api = os.environ[prefix + "_API"] + "/api/v1"

    @property
    def connection_string(self):
        return (
            f"Endpoint=sb://{self.amqp};SharedAccessKeyName=RootManageSharedAccessKey;"
            "SharedAccessKey=SAS_KEY_VALUE;UseDevelopmentEmulator=true;"
        )

    def client(self, **options):
        options.setdefault("retry_total", 0)
        return ServiceBusClient.from_connection_string(self.connection_string, **options)

    def call(self, method, path, body=None):
        request = urllib.request.Request(
            self.api + path, method=method, data=None if body is None else json.dumps(body).encode()
        )
        with urllib.request.urlopen(request, timeout=30) as answer:
            got = answer.read()
        return json.loads(got) if got else None

    def make(self, kind, path, rules=None, **properties):
        body = {"kind": kind, "path": path, "properties": properties}
        if rules is not None:
            body["rules"] = rules
        self.call("POST", "/entities", body)
        return path

    def queue(self, path, **properties):
        return self.make("queue", path, **properties)

    def topic(self, path, *subscriptions, **properties):
        self.make("topic", path, **properties)
        for name in subscriptions:
            self.make("subscription", f"{path}/Subscriptions/{name}")
        return path

    def change(self, path, **properties):
        self.call("PATCH", "/entities/" + path, {"properties": properties})


standard = Server("SB")
premium = Server("SB_PREMIUM")


def equal(got, want):
    if got != want:
        raise AssertionError(f"got {got!r}, want {want!r}")


@contextmanager
def raises(kind, *words):
    """The block fails with that very kind of error, whose text has the words."""
    try:
        yield
    except Exception as e:
        if type(e) is not kind:
            raise AssertionError(f"{type(e).__name__} instead of {kind.__name__}: {e}") from e
        for word in words:
            if word not in str(e):
                raise AssertionError(f"{word!r} is not in {e}") from e
        return
    raise AssertionError(f"no {kind.__name__}")


def until(what, patience=20.0):
    """Asks until the answer is true, and returns it."""
    end = time.monotonic() + patience
    while True:
        got = what()
        if got:
            return got
        if time.monotonic() > end:
            raise AssertionError("it never came true")
        time.sleep(0.02)


def bodies(messages):
    return [b"".join(m.body).decode() for m in messages]


def take(receiver, n, patience=20):
    """Receives until there are n messages; more than that is an error."""
    got = []
    while len(got) < n:
        some = receiver.receive_messages(max_message_count=n - len(got), max_wait_time=patience)
        if not some:
            raise AssertionError(f"{len(got)} of {n} messages came: {bodies(got)}")
        got += some
    return got


def restart():
    """Has the standard server killed and started again, on the same ports."""
    print("RESTART", flush=True)
    if sys.stdin.readline().strip() != "ready":
        raise AssertionError("the server did not start again")


def attempt(f):
    """Runs a case and returns what is said of it, in one piece."""
    began = time.monotonic()
    try:
        f()
    except Exception:
        said = "".join("\n| " + line for line in traceback.format_exc().splitlines())
        return f"FAIL {f.__name__}{said}\n"
    return f"PASS {f.__name__} {int(1000 * (time.monotonic() - began))}ms\n"


def run(only):
    """Runs the cases, several at a time: each has entities of its own. Those that
    want the server to themselves are run last."""
    chosen = [f for f in cases if not only or f.__name__ in only]
    with ThreadPoolExecutor(8) as pool:
        for said in pool.map(attempt, [f for f in chosen if f not in alone]):
            print(said, end="", flush=True)
    for f in chosen:
        if f in alone:
            print(attempt(f), end="", flush=True)
    print(f"DONE {len(chosen)}", flush=True)
