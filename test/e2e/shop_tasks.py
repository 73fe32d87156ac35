"""
Sends single tasks of the shop (name, arguments, countdown in seconds or null, queue or null) and asks Celery about them, for tests that
need to know when each of them did what. Prints one JSON document.

    python shop_tasks.py send '[["shop.check_stock", ["cup"], 2, null]]'
    python shop_tasks.py held w1@host
    python shop_tasks.py ended ID …
    python shop_tasks.py events off w1@host
    python shop_tasks.py purge reports
"""

import json
import sys
import time
from datetime import datetime, timezone

import shop

RESULT_TIMEOUT_S = 100
REPLY_TIMEOUT_S = 10


def send(tasks):
    """The id of each, and when it was due: when it had been sent, or its ETA if it has one."""
    sent = []
    for name, args, countdown, queue in json.loads(tasks):
        eta = None if countdown is None else time.time() + countdown
        options = {} if eta is None else {"eta": datetime.fromtimestamp(eta, timezone.utc)}
        if queue is not None:
            options["queue"] = queue
        result = shop.app.send_task(name, args, **options)
        sent.append({"id": result.id, "due": eta or time.time()})
    return sent


def held(nodename):
    """The ids of the tasks that a worker runs, holds for a free process, and holds for their ETA."""
    inspect = shop.app.control.inspect(destination=[nodename], timeout=REPLY_TIMEOUT_S)
    asked = {"active": inspect.active(), "reserved": inspect.reserved(), "scheduled": inspect.scheduled()}
    return {
        what: [entry.get("request", entry)["id"] for entry in (reply or {})[nodename]]
        for what, reply in asked.items()
    }


def ended(*ids):
    """When each came to its end, by its result."""
    ends = []
    for task in ids:
        result = shop.app.AsyncResult(task)
        result.get(timeout=RESULT_TIMEOUT_S, propagate=False)
        ends.append(result.date_done.replace(tzinfo=timezone.utc).timestamp())
    return ends


def events(switch, nodename):
    """The worker sends task events from now on, or none. One that was started with `-E` cannot be stopped."""
    control = shop.app.control
    command = {"on": control.enable_events, "off": control.disable_events}[switch]
    return command(destination=[nodename], reply=True, timeout=REPLY_TIMEOUT_S)


def purge(queue):
    """How many messages the queue had."""
    with shop.app.connection_for_write() as connection:
        return connection.default_channel.queue_purge(queue)


if __name__ == "__main__":
    command, *arguments = sys.argv[1:]
    commands = {"send": send, "held": held, "ended": ended, "events": events, "purge": purge}
    json.dump(commands[command](*arguments), sys.stdout)
