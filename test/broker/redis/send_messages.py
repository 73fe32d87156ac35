"""
Sends tasks that no worker takes, in each of several layouts of Redis: address, broker_transport_options, and the priority
of each task. Celery itself chooses the keys.

    python send_messages.py '[["redis://127.0.0.1:6379/3", {"sep": ":"}, [0, 3, 9]]]'
"""

import json
import sys

from celery import Celery

sent = 0
for broker, options, priorities in json.loads(sys.argv[1]):
    app = Celery(broker=broker)
    app.conf.update(broker_url=broker, broker_transport_options=options, task_default_queue="orders")
    with app.connection_for_write(broker) as connection:
        for priority in priorities:
            app.send_task("shop.pay", connection=connection, priority=priority)
            sent += 1
json.dump(sent, sys.stdout)
