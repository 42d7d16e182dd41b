"""A Celery application whose tasks write what they do to a file."""

import os
import time

import way
from celery import Celery

app = Celery("shop", broker=way.BROKER)
app.conf.update(
    task_acks_late=True,
    task_reject_on_worker_lost=True,
    task_ignore_result=True,
    worker_prefetch_multiplier=1,
    broker_connection_retry_on_startup=False,
    broker_transport_options={
        "peek_lock_seconds": int(os.environ.get("LOCK", "30")),
        "wait_time_seconds": 1,
        "queue_name_prefix": os.environ.get("PREFIX", ""),
    },
)


def note(*words):
    with open(os.environ["OUT"], "a") as f:
        f.write(" ".join(map(str, words)) + "\n")


@app.task
def add(n, x, y):
    note("add", n, x + y)


@app.task(bind=True, max_retries=3)
def flaky(self, n):
    note("flaky", n, self.request.retries)
    if self.request.retries < 2:
        raise self.retry(countdown=0.1)


@app.task
def slow():
    note("begin")
    if not os.path.exists(os.environ["OUT"] + ".quick"):
        time.sleep(60)
    note("end")
