"""The tasks of the shop, all instrumented; the last one is killed before it can tell anything."""

import os
import signal
import time

from tracing import JoinedCelery

app = JoinedCelery("shop")
app.conf.update(
    broker_url=os.environ.get("CELERY_BROKER_URL", "redis://127.0.0.1:6379/0"),
    # The two settings that celery-otel needs.
    worker_send_task_events=True,
    task_send_sent_event=True,
    task_default_queue="orders",
    task_ignore_result=True,
    broker_connection_retry_on_startup=True,
)


@app.task
def charge(item):
    time.sleep(0.02)
    return item


@app.task
def pack(item):
    time.sleep(0.03)
    if item == "vase":
        raise ValueError("the vase is broken")
    return item


@app.task
def ship(item):
    return item


@app.task
def print_catalogue():
    """As if it took too much memory: the process that runs it is killed, and its span with it."""
    os.kill(os.getpid(), signal.SIGKILL)
