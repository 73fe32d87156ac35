"""
Tasks whose attempts overlap, are delivered again, end without an event or use an id again, all instrumented; run as a script, it sends
them and prints the ids.

    PYTHONPATH=examples/traced-shop celery --app shop_attempts worker
    PYTHONPATH=examples/traced-shop python shop_attempts.py pay 10
"""

import json
import os
import signal
import sys
import time

import shop
from celery import Task
from celery.exceptions import Ignore

app = shop.app


class SlowToRetry(Task):
    """It is still busy with its retry while the next attempt runs."""

    def on_retry(self, exc, task_id, args, kwargs, einfo):
        time.sleep(0.05)


@app.task(bind=True, base=SlowToRetry, max_retries=1, name="attempts.pay")
def pay(self):
    note.delay(self.request.retries)
    if self.request.retries == 0:
        raise self.retry(countdown=0, exc=ConnectionError("the bank is away"))
    return "paid"


@app.task(name="attempts.note")
def note(attempt):
    return attempt


@app.task(name="attempts.ignore")
def ignore():
    raise Ignore


@app.task(name="attempts.step")
def step(result, is_last):
    if is_last:
        raise ValueError("no address")
    return result


@app.task(acks_late=True, name="attempts.outlive")
def outlive(path):
    """Its first run ends with its whole worker."""
    if os.path.exists(path):
        os.unlink(path)
        os.kill(os.getppid(), signal.SIGKILL)
        time.sleep(60)
    note.delay("outlived")


def send(kind, count):
    for number in range(count):
        match kind:
            case "pay":
                yield pay.delay().id
            case "ignore":
                yield ignore.delay().id
            case "chain":
                chain = step.s(1, False) | step.s(False) | step.s(True)
                yield chain.apply_async().parent.parent.id
            case "reuse":
                yield note.apply_async((number,), task_id="order-4711").id
                time.sleep(1)
            case path:
                yield outlive.delay(path).id


if __name__ == "__main__":
    json.dump(list(send(sys.argv[1], int(sys.argv[2]))), sys.stdout)
