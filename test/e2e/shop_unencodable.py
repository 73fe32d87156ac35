"""
A shop whose tasks take arguments that JSON cannot encode, as with pickle. Asked for them by an unsafe `inspect active`, a
worker of Celery up to 5.6 on Redis fails to reply, and stops consuming.

    celery --app shop_unencodable worker
    python -c 'from shop_unencodable import send; send(5, 0.2, "orders")'
"""

import os
import time

from celery import Celery

app = Celery("shop_unencodable", broker=os.environ["CELERY_BROKER_URL"])
app.conf.update(
    # The tasks only: replies are encoded as task_serializer says.
    accept_content=["json", "pickle"],
    task_serializer="json",
    task_ignore_result=True,
    task_default_queue="orders",
    worker_prefetch_multiplier=1,
)


class Parcel:
    """Nothing that JSON knows."""


@app.task
def pack(parcel, seconds):
    time.sleep(seconds)


def send(count, seconds, queue):
    for _ in range(count):
        pack.apply_async((Parcel(), seconds), serializer="pickle", queue=queue)
