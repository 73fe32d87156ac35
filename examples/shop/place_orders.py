"""
Places orders in the shop, waits until all have ended, and prints Celery's own report as one JSON document: final states
and retries from the result backend, and the totals of `celery inspect stats`.

    python place_orders.py --orders 100 --seed 1

The same seed places the same orders.
"""

import argparse
import json
import random
import sys
import time
from collections import Counter, defaultdict

import celery
from celery.result import GroupResult

import shop

ITEMS = ["teapot", "kettle", "cup", "spoon"]


class Orders:
    """Places orders and remembers every task id, with what only the shop knows about it."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.placed = 0
        self.names = {}  # task id -> task name, for every task that was sent from here
        self.no_result = {}  # task id -> how it ends, where Celery stores no result for that
        self.to_revoke = set()
        self.to_terminate = set()
        self.inspect = inspect_living_workers()

    def place(self, kind):
        self.placed += 1
        KINDS[kind][1](self, self.placed)

    def send(self, task, *args, **options):
        """Sends one task and returns its id."""
        result = task.apply_async(args, **options)
        self.names[result.id] = task.name
        return result.id

    # One method for each kind of order; KINDS below has their weights.

    def usual(self, order):
        """A chain that ends in a group: check, pay, then pack and send the receipt."""
        steps = (
            shop.check_stock.si(self.random.choice(ITEMS), self.random.choice([0.005, 0.02, 0.06]))
            | shop.charge_card.si(1000 + order)
            | celery.group(shop.pack_parcel.si(order), shop.send_receipt.si(order))
        )
        first = steps.apply_async()
        while first.parent is not None:
            first = first.parent
        # Later steps are found as children of earlier ones: a chain that breaks never sends them.
        self.names[first.id] = shop.check_stock.name

    def basket(self, order):
        """A chord: the price of every item, then the total."""
        items = self.random.choices(ITEMS, k=3)
        total = (celery.group(shop.price_item.s(item) for item in items) | shop.total_basket.s()).apply_async()
        self.names[total.id] = shop.total_basket.name
        for price in total.parent.results:
            self.names[price.id] = shop.price_item.name

    def receipt(self, order):
        self.send(shop.send_receipt, order)

    def busy_gateway(self, order):
        """Retried by Celery, and paid in the end."""
        self.send(shop.charge_card, 1000 + order, "good", self.random.choice([1, 2]))

    def broken_gateway(self, order):
        """Retried by Celery until it gives up: GatewayBusy."""
        self.send(shop.charge_card, 1000 + order, "good", 9)

    def sleepy_courier(self, order):
        """Retried by the task itself; sometimes without success: CourierAsleep."""
        self.send(shop.book_courier, order, self.random.choice([2, 2, 9]))

    def no_paper(self, order):
        """Retried without a reason: MaxRetriesExceededError."""
        self.send(shop.print_label, order, False)

    def declined(self, order):
        self.send(shop.charge_card, 1000 + order, "declined")

    def closed_bank(self, order):
        self.send(shop.charge_card, 1000 + order, "bank closed")

    def unknown_item(self, order):
        self.send(shop.check_stock, "unicorn")

    def unknown_address(self, order):
        self.send(shop.pack_parcel, order, "12 Nowhere Lane")

    def reminder(self, order):
        self.send(shop.send_reminder, order, countdown=self.random.choice([1, 2, 3]))

    def offer(self, order):
        """Expires before it is due: in the worker, or in RabbitMQ if no worker has received it by then."""
        task = self.send(shop.send_offer, order, countdown=6, expires=5)
        self.no_result[task] = "expired"

    def cancelled(self, order):
        """Revoked by its id before it is due, once a worker has it (see revoke_waiting)."""
        self.to_revoke.add(self.send(shop.ship_parcel, order, countdown=5))

    def returned(self, order):
        task = self.send(shop.take_back_parcel, order)
        self.no_result[task] = "rejected"

    def visitor(self, order):
        task = self.send(shop.count_visitor)
        self.no_result[task] = "ignored"

    def report(self, order):
        self.send(shop.write_daily_report, self.random.choice([0.1, 0.4]))

    def stopped_report(self, order):
        """Terminated while it runs."""
        self.to_terminate.add(self.send(shop.write_daily_report, 8))

    def endless_report(self, order):
        """Ends at its hard time limit: TimeLimitExceeded."""
        self.send(shop.write_yearly_report)

    def long_report(self, order):
        """Long enough to stop its worker while it runs."""
        self.send(shop.write_daily_report, 60)

    def change_of_mind(self):
        """Of the tasks placed for this, revokes those that wait for their ETA and terminates those that run."""
        if self.to_revoke:
            self.revoke_waiting()
        for task in sorted(self.to_terminate):
            if shop.app.AsyncResult(task).state == "STARTED":
                shop.app.control.revoke(task, terminate=True)
                self.to_terminate.remove(task)

    def revoke_waiting(self):
        """Revokes the tasks that a worker holds. (A task revoked earlier has no task-received event.)"""
        replies = self.inspect.scheduled() or {}
        if not replies or len(replies) < len(self.inspect.destination):
            self.inspect = inspect_living_workers()
        for waiting in (entry["request"]["id"] for entries in replies.values() for entry in entries):
            if waiting in self.to_revoke:
                shop.app.control.revoke(waiting)
                self.to_revoke.remove(waiting)


# kind -> (weight; 0: only with --only; how it is placed)
KINDS = {
    "usual": (40, Orders.usual),
    "basket": (10, Orders.basket),
    "receipt": (15, Orders.receipt),
    "busy_gateway": (6, Orders.busy_gateway),
    "broken_gateway": (2, Orders.broken_gateway),
    "sleepy_courier": (5, Orders.sleepy_courier),
    "no_paper": (2, Orders.no_paper),
    "declined": (4, Orders.declined),
    "closed_bank": (1, Orders.closed_bank),
    "unknown_item": (3, Orders.unknown_item),
    "unknown_address": (3, Orders.unknown_address),
    "reminder": (4, Orders.reminder),
    "offer": (2, Orders.offer),
    "cancelled": (3, Orders.cancelled),
    "returned": (2, Orders.returned),
    "visitor": (2, Orders.visitor),
    "report": (4, Orders.report),
    "stopped_report": (2, Orders.stopped_report),
    "endless_report": (1, Orders.endless_report),
    "long_report": (0, Orders.long_report),
}

# Why each task is retried, which the results do not contain.
RETRIED_FOR = {
    shop.charge_card.name: "GatewayBusy",
    shop.book_courier.name: "CourierAsleep",
    shop.print_label.name: "Retry",
}


def plan(orders, kind, random_):
    """The kinds of that many orders. Every kind is placed once if there is room, however rare it is."""
    if kind is not None:
        return [kind] * orders
    often = {name: weight for name, (weight, _) in KINDS.items() if weight > 0}
    kinds = list(often)[:orders]
    kinds += random_.choices(list(often), list(often.values()), k=orders - len(kinds))
    random_.shuffle(kinds)
    return kinds


def place_all(orders, kinds, seconds):
    """Places the orders evenly over that many seconds (0: as fast as possible)."""
    start = time.monotonic()
    for number, kind in enumerate(kinds):
        time.sleep(max(0, start + seconds * number / len(kinds) - time.monotonic()))
        orders.place(kind)
        orders.change_of_mind()


def wait_for_results(orders, timeout):
    """Waits until every task and its children have ended, and returns the ids of all."""
    known = set(orders.names)
    waiting = set(known)
    deadline = time.monotonic() + timeout
    while waiting and time.monotonic() < deadline:
        orders.change_of_mind()
        for task in sorted(waiting):
            result = shop.app.AsyncResult(task)
            if is_over(orders.no_result.get(task), result):
                children = set(children_of(result)) - known
                known |= children
                waiting = (waiting | children) - {task}
        time.sleep(0.1)
    wait_until_idle(deadline)
    return sorted(known)


def is_over(no_result, result):
    """True once the result is final, or as final as it will ever be for a task that stores none."""
    if no_result == "expired":
        return result.state in ("REVOKED", "PENDING")
    if no_result is not None:
        return result.state != "PENDING"
    return result.ready()


def children_of(result):
    """The ids of the tasks that this task has sent, including the members of its groups."""
    for child in result.children or []:
        yield from (member.id for member in child.results) if isinstance(child, GroupResult) else [child.id]


def inspect_living_workers():
    """Inspects the workers that answer a ping: with known names, a request ends with the last reply."""
    living = shop.app.control.inspect(timeout=1).ping() or {}
    return shop.app.control.inspect(timeout=2, destination=list(living))


def wait_until_idle(deadline):
    """Waits until no worker holds a task: active, reserved or scheduled."""
    inspect = inspect_living_workers()
    while time.monotonic() < deadline:
        held = [inspect.active(safe=True), inspect.reserved(), inspect.scheduled()]
        if not any(tasks for reply in held for tasks in (reply or {}).values()):
            return
        time.sleep(0.2)


def summary(orders, ids):
    """What Celery reports about each task name, and what only the shop knows."""
    tasks = defaultdict(lambda: {"ids": 0, "states": Counter(), "errors": Counter(), "retries": Counter()})
    shop_says = defaultdict(Counter)
    for task in ids:
        result = shop.app.AsyncResult(task)
        name = orders.names.get(task) or result.name
        row = tasks[name]
        row["ids"] += 1
        row["states"][result.state] += 1
        if result.state == "FAILURE":
            row["errors"][type(result.result).__name__] += 1
        if result.retries:
            row["retries"][RETRIED_FOR[name]] += result.retries
        if task in orders.no_result:
            shop_says[name][orders.no_result[task]] += 1
    stats = inspect_living_workers().stats() or {}
    return {
        "celery": celery.__version__,
        "orders": orders.placed,
        "tasks": tasks,
        "shop_says": shop_says,
        "workers": {nodename: stats[nodename]["total"] for nodename in sorted(stats)},
    }


def main():
    parser = argparse.ArgumentParser(description="Places orders in the shop and prints what became of them.")
    parser.add_argument("--orders", type=int, default=100, help="how many orders (default 100; about 2.5 tasks each)")
    parser.add_argument("--seed", type=int, default=1, help="the same seed places the same orders (default 1)")
    parser.add_argument("--seconds", type=float, default=0, help="spread them over so many seconds (default 0: no pause)")
    parser.add_argument("--only", choices=sorted(KINDS), help="only orders of this kind")
    parser.add_argument("--timeout", type=float, default=60, help="seconds to wait for the last result (default 60)")
    options = parser.parse_args()

    orders = Orders(options.seed)
    place_all(orders, plan(options.orders, options.only, orders.random), options.seconds)
    ids = wait_for_results(orders, options.timeout)
    json.dump(summary(orders, ids), sys.stdout, indent=2, sort_keys=True)
    print()


if __name__ == "__main__":
    main()
