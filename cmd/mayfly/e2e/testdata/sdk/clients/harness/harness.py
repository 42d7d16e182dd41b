"""What the cases of a client share: the server, its entities, and how a case is
reported."""

import json
import os
import time
import traceback
import urllib.request
from concurrent.futures import ThreadPoolExecutor

AMQP = os.environ["SB_AMQP"]  # host and port, in clear
ADMIN = os.environ["SB_ADMIN"]  # URL, in clear
API = os.environ["SB_API"] + "/api/v1"
HOST = os.environ["SB_HOST"]  # a loopback address with AMQP over TLS on port 5671
HTTPS = os.environ["SB_HTTPS"]  # host and port of administration over TLS
CA = os.environ["SB_CA"]  # path of the certificate to trust

KEY = "SharedAccessKeyName=RootManageSharedAccessKey;SharedAccessKey=SAS_KEY_VALUE"

cases = []


def case(f):
    """Registers a function as a case of the same name."""
    cases.append(f)
    return f


def call(method, path, body=None):
    request = urllib.request.Request(API + path, method=method, data=None if body is None else json.dumps(body).encode())
    with urllib.request.urlopen(request, timeout=30) as answer:
        got = answer.read()
    return json.loads(got) if got else None


def make(kind, path, **properties):
    """Creates an entity and returns its path."""
    call("POST", "/entities", {"kind": kind, "path": path, "properties": properties})
    return path


def queue(path, **properties):
    return make("queue", path, **properties)


def topic(path, *subscriptions):
    make("topic", path)
    for name in subscriptions:
        make("subscription", f"{path}/Subscriptions/{name}")
    return path


def equal(got, want):
    if got != want:
        raise AssertionError(f"got {got!r}, want {want!r}")


def raises(kind, f, *words):
    """Checks that f fails with that kind of error and that its text has the words."""
    try:
        f()
    except kind as e:
        for word in words:
            if word not in str(e):
                raise AssertionError(f"{word!r} is not in {e}") from e
        return e
    except Exception as e:
        raise AssertionError(f"{type(e).__name__} instead of {kind.__name__}: {e}") from e
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


def attempt(f):
    """Runs a case and returns its report."""
    began = time.monotonic()
    try:
        f()
    except Exception:
        return f"FAIL {f.__name__}" + "".join("\n| " + line for line in traceback.format_exc().splitlines()) + "\n"
    return f"PASS {f.__name__} {int(1000 * (time.monotonic() - began))}ms\n"


def run(only, width=6):
    """Runs the cases, width of them at a time. Each has entities of its own."""
    chosen = [f for f in cases if not only or f.__name__ in only]
    with ThreadPoolExecutor(width) as pool:
        for said in pool.map(attempt, chosen):
            print(said, end="", flush=True)
    print(f"DONE {len(chosen)}", flush=True)
    os._exit(0)
