"""
A small shop on Celery: orders are checked, paid, packed and shipped; mails go out; reports are written.

It is an example to run beside celery-otel, so its tasks end in every way a Celery task can end: well, badly, later,
again, too late, never. Nothing here is needed by celery-otel but the two settings marked below.
"""

import os
import time

from celery import Celery
from celery.exceptions import Ignore, Reject

app = Celery("shop")
app.conf.update(
    broker_url=os.environ.get("CELERY_BROKER_URL", "amqp://guest:guest@127.0.0.1:5672//"),
    result_backend=os.environ.get("CELERY_RESULT_BACKEND", "redis://127.0.0.1:6379/0"),
    # The two settings that celery-otel lives on: workers tell about their tasks (the same as `worker -E`) ...
    worker_send_task_events=True,
    # ... and whoever sends a task tells that too, with the name of the queue.
    task_send_sent_event=True,
    # Only for the summary of place_orders.py: results that say which task, which worker, how many retries.
    task_track_started=True,
    result_extended=True,
    # Three queues. The tasks of `reports` are killed or stopped by a time limit, which takes a prefork worker.
    task_default_queue="orders",
    task_routes={
        "shop.send_*": {"queue": "emails"},
        "shop.write_*": {"queue": "reports"},
    },
    broker_connection_retry_on_startup=True,
)


class CardDeclined(Exception):
    """The customer has to pay in another way."""


class GatewayBusy(Exception):
    """The payment gateway wants to be asked again."""


class CourierAsleep(Exception):
    """The courier does not answer the telephone yet."""


class AddressUnknown(Exception):
    """An exception that prints itself in its own way, as many libraries' do."""

    def __repr__(self):
        return f"<AddressUnknown: {self}>"


class BankClosed(Exception):
    """An exception that prints itself with the path of its module."""

    def __repr__(self):
        return f"shop.bank.BankClosed({str(self)!r})"


def work(seconds):
    """Stands for real work."""
    time.sleep(seconds)


# --- orders: any pool -------------------------------------------------------------------------------------------------


@app.task
def check_stock(item, seconds=0.01):
    """The first step of an order. An item that nobody has ever heard of is a KeyError."""
    work(seconds)
    return {"teapot": 12, "kettle": 3, "cup": 120, "spoon": 80}[item]


@app.task(bind=True, autoretry_for=(GatewayBusy,), retry_kwargs={"max_retries": 2, "countdown": 0.3})
def charge_card(self, cents, card="good", busy_times=0):
    """Celery retries it by itself while the gateway is busy, twice at most."""
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
    """Asks for its own retry, once, and says why."""
    if self.request.retries + 1 < calls_needed:
        raise self.retry(exc=CourierAsleep("still asleep"), countdown=0.2)
    return order


@app.task(bind=True, max_retries=1)
def print_label(self, order, paper=True):
    """Asks for its own retry without saying why, so in the end Celery raises MaxRetriesExceededError."""
    if not paper:
        raise self.retry(countdown=0.2)
    return order


@app.task
def ship_parcel(order):
    """Sent with a countdown, and revoked before its time when the customer thinks better of it."""
    return order


@app.task(acks_late=True)
def take_back_parcel(order):
    """Refuses the message itself: it is neither a success nor a failure, and no result is stored."""
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
    """Takes its time; some are terminated while they run."""
    work(seconds)
    return f"a report of {seconds} s"


@app.task(time_limit=1)
def write_yearly_report(seconds=5):
    """Takes longer than its hard time limit."""
    work(seconds)
