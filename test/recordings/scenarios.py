"""
An application whose tasks each come to one known end. Its recordings hold what celery-otel counts against what Celery
says; nobody would run it otherwise.

It keeps a journal beside the events: what Celery's signals tell inside the processes, and what the tasks know of
themselves where Celery stores no result. The journal never passes through the events that are recorded.
"""

import json
import os
import signal
import time

from celery import Celery, group, signals
from celery.exceptions import Ignore, Reject

app = Celery("scenarios")
app.conf.update(
    broker_url=os.environ["CELERY_BROKER_URL"],
    result_backend=os.environ["CELERY_RESULT_BACKEND"],
    worker_send_task_events=True,
    task_send_sent_event=os.environ["SCENARIOS_SENT"] == "1",
    task_track_started=True,
    result_extended=True,
    task_default_queue="work",
    task_routes={"scenarios.nap*": {"queue": "slow"}},
    broker_connection_retry_on_startup=True,
)
if os.environ["SCENARIOS_QUORUM"] == "1":
    # Quorum queues enable native delayed delivery, which needs exchanges that are not direct (Celery 5.5).
    app.conf.update(task_default_queue_type="quorum", task_default_exchange_type="topic")


def note(what, task_id, name, **more):
    """Appends a line to the journal, in one write: many processes do."""
    line = json.dumps({"what": what, "id": task_id, "name": name, **more}) + "\n"
    journal = os.open(os.environ["SCENARIOS_JOURNAL"], os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    os.write(journal, line.encode())
    os.close(journal)


@signals.after_task_publish.connect
def on_publish(sender, headers, **_):
    note("published", headers["id"], sender)


@signals.task_received.connect
def on_received(request, **_):
    note("received", request.id, request.name)


@signals.task_prerun.connect
def on_prerun(task_id, task, **_):
    note("run", task_id, task.name)


@signals.task_retry.connect
def on_retry(request, sender, reason, **_):
    why = "Retry" if reason.exc is None else type(reason.exc).__name__
    note("retried", request.id, sender.name, why=why)


@signals.task_revoked.connect
def on_revoked(request, sender, terminated, expired, **_):
    why = "terminated" if terminated else "expired" if expired else "revoked"
    note("revoked", request.id, sender.name, why=why)


class Declined(Exception):
    """An exception with its own __repr__."""

    def __repr__(self):
        return f"<Declined: {self}>"


class Busy(Exception):
    """A temporary error."""


# --- plain ends -------------------------------------------------------------------------------------------------------


@app.task
def add(x, y):
    return x + y


@app.task(acks_late=True)
def add_late(x, y):
    return x + y


@app.task
def gather(numbers):
    """The body of a chord."""
    return sum(numbers)


@app.task
def lack(key):
    return {}[key]


@app.task
def decline():
    raise Declined("card 17: not enough money")


@app.task(throws=(KeyError,))
def lack_as_expected(key):
    return {}[key]


@app.task(bind=True)
def tell_progress(self):
    """Sends a custom event."""
    self.send_event("task-progress", done=1)


@app.task(bind=True, autoretry_for=(Busy,), retry_backoff=1, retry_jitter=False, max_retries=2)
def be_busy(self, times):
    """Retried by Celery, 1 s and then 2 s later."""
    if self.request.retries < times:
        raise Busy("again, please")


@app.task(bind=True, max_retries=1)
def retry_for(self):
    raise self.retry(exc=KeyError("k"), countdown=1)


@app.task(bind=True, max_retries=1)
def retry_blindly(self):
    raise self.retry(countdown=1)


# --- no result --------------------------------------------------------------------------------------------------------


@app.task(bind=True)
def ignore(self):
    note("ignored", self.request.id, self.name)
    raise Ignore()


@app.task(bind=True, acks_late=True)
def reject(self):
    note("rejected", self.request.id, self.name, why="dropped")
    raise Reject("no", requeue=False)


@app.task(bind=True)
def reject_too_late(self):
    """Its message is already acknowledged. Only newer Celery reports it."""
    note("rejected", self.request.id, self.name, why="dropped")
    raise Reject("no", requeue=False)


@app.task(bind=True, acks_late=True)
def hand_back(self):
    """Rejected once, with requeue."""
    if not self.request.delivery_info["redelivered"]:
        note("rejected", self.request.id, self.name, why="requeued")
        raise Reject("not now", requeue=True)


@app.task(bind=True)
def replace(self):
    raise self.replace(add.si(3, 4))


@app.task(bind=True)
def replace_by_group(self):
    raise self.replace(group(add.si(1, 1), add.si(2, 2)))


# --- long ones, in a queue of their own ---------------------------------------------------------------------------------


@app.task
def nap(seconds):
    time.sleep(seconds)


@app.task(bind=True, acks_late=True)
def nap_late(self, seconds):
    """Sleeps the first time only."""
    if not self.request.delivery_info["redelivered"]:
        time.sleep(seconds)


# --- violent ends: prefork --------------------------------------------------------------------------------------------


@app.task(time_limit=1)
def exceed_hard_limit():
    time.sleep(20)


@app.task(soft_time_limit=1)
def exceed_soft_limit():
    time.sleep(20)


@app.task
def die():
    """The process of the pool is killed, as the kernel does when memory runs out."""
    os.kill(os.getpid(), signal.SIGKILL)


@app.task(bind=True, acks_late=True, reject_on_worker_lost=True)
def die_once(self):
    """As before, but Celery puts the message back."""
    if not self.request.delivery_info["redelivered"]:
        note("rejected", self.request.id, self.name, why="requeued")
        os.kill(os.getpid(), signal.SIGKILL)


@app.task
def leave():
    raise SystemExit(3)
