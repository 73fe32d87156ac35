"""
A small shop on Celery: orders are checked, paid, packed and shipped; mails go out; reports are written.

It is an example to run with celery-otel, so its tasks end in every way a Celery task can end: success, failure, retry,
revocation, expiry, or not at all. celery-otel only needs the two settings marked below.
"""

import json
import os
import time

from celery import Celery
from celery.exceptions import Ignore, Reject

app = Celery("shop")
app.conf.update(
    broker_url=os.environ.get("CELERY_BROKER_URL", "amqp://guest:guest@127.0.0.1:5672//"),
    result_backend=os.environ.get("CELERY_RESULT_BACKEND", "redis://127.0.0.1:6379/0"),
    # With Redis as broker: a prefix of its keys, or the name by which sentinels know the master.
    broker_transport_options=json.loads(os.environ.get("CELERY_BROKER_TRANSPORT_OPTIONS", "{}")),
    # The two settings that celery-otel needs: workers send task events (the same as `worker -E`) ...
    worker_send_task_events=True,
    # ... and senders of tasks send an event too, with the name of the queue.
    task_send_sent_event=True,
    # Only for the summary of place_orders.py: results with the task, the worker and the number of retries.
    task_track_started=True,
    result_extended=True,
    # Three queues. The tasks of `reports` are terminated or hit a time limit, which needs a prefork worker.
    task_default_queue="orders",
    task_routes={
        "shop.send_*": {"queue": "emails"},
        "shop.write_*": {"queue": "reports"},
    },
    broker_connection_retry_on_startup=True,
)


class CardDeclined(Exception):
    """The card was declined; the customer must pay in another way."""


class GatewayBusy(Exception):
    """The payment gateway is busy; try again."""


class CourierAsleep(Exception):
    """The courier does not answer the phone yet."""


class AddressUnknown(Exception):
    """An exception with its own __repr__, as many libraries have."""

    def __repr__(self):
        return f"<AddressUnknown: {self}>"


class BankClosed(Exception):
    """An exception whose __repr__ has the path of its module."""

    def __repr__(self):
        return f"shop.bank.BankClosed({str(self)!r})"


def work(seconds):
    """Simulates real work."""
    time.sleep(seconds)


# --- orders: any pool -------------------------------------------------------------------------------------------------


@app.task
def check_stock(item, seconds=0.01):
    """The first step of an order. An unknown item raises KeyError."""
    work(seconds)
    return {"teapot": 12, "kettle": 3, "cup": 120, "spoon": 80}[item]


@app.task(bind=True, autoretry_for=(GatewayBusy,), retry_kwargs={"max_retries": 2, "countdown": 0.3})
def charge_card(self, cents, card="good", busy_times=0):
    """Celery retries it while the gateway is busy, twice at most."""
    work(0.02)
    if self.request.retries < busy_times:
        raise GatewayBusy("please ask again")
    if card == "declined":
        raise CardDeclined("not enough money")
    if card == "bank closed":
        raise BankClosed("it is Sunday")
    return cents


@app.task
def pack_parcel(order, address="1 Main Street"):
    work(0.03)
    if address == "12 Nowhere Lane":
        raise AddressUnknown(address)
    return order


@app.task(bind=True, max_retries=1)
def book_courier(self, order, calls_needed=1):
    """Requests one retry, with a reason."""
    if self.request.retries + 1 < calls_needed:
        raise self.retry(exc=CourierAsleep("still asleep"), countdown=0.2)
    return order


@app.task(bind=True, max_retries=1)
def print_label(self, order, paper=True):
    """Requests retries without a reason, so in the end Celery raises MaxRetriesExceededError."""
    if not paper:
        raise self.retry(countdown=0.2)
    return order


@app.task
def ship_parcel(order):
    """Sent with a countdown, and revoked before it is due."""
    return order


@app.task(acks_late=True)
def take_back_parcel(order):
    """Rejects its message: it neither succeeds nor fails, and no result is stored."""
    raise Reject("we do not take back cups", requeue=False)


@app.task
def count_visitor():
    """Ends without a result and without an event."""
    raise Ignore()


@app.task
def price_item(item):
    work(0.005)
    return {"teapot": 2500, "kettle": 3900, "cup": 450, "spoon": 120}[item]


@app.task
def total_basket(prices):
    """Runs once all prices are there (a chord)."""
    return sum(prices)


# --- emails: any pool -------------------------------------------------------------------------------------------------


@app.task
def send_receipt(order):
    work(0.05)
    return f"receipt of order {order} is on its way"


@app.task
def send_reminder(order):
    """Sent with an ETA."""
    return f"order {order} is waiting for you"


@app.task
def send_offer(order):
    """Sent with an ETA and an expiry before it, so that no worker ever runs it."""
    return f"order {order}: one cup for free"


# --- reports: prefork -------------------------------------------------------------------------------------------------


@app.task
def write_daily_report(seconds=1):
    """Takes long; some are terminated while they run."""
    work(seconds)
    return f"a report of {seconds} s"


@app.task(time_limit=1)
def write_yearly_report(seconds=5):
    """Takes longer than its hard time limit."""
    work(seconds)
