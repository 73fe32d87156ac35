"""
The example shop, with a task that runs until a test lets it end, and one without events. Workers send task events with `-E`, or once
remote control enables them.

    PYTHONPATH=examples/shop celery --app shop_held worker
"""

import os
import time

import shop

app = shop.app
app.conf.worker_send_task_events = False


@app.task(name="shop.wait_while")
def wait_while(path):
    """Runs as long as there is a file."""
    while os.path.exists(path):
        time.sleep(0.05)


@app.task(name="shop.count_stock", send_events=False)
def count_stock():
    """No worker reports it."""
