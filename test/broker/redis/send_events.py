"""
Sends one custom event in each of several layouts of Redis (address, broker_transport_options), as workers with those
settings do: kombu itself names the channels and writes the envelopes. Prints their types.

    python send_events.py '[["redis://127.0.0.1:6379/3", {"global_keyprefix": "pfx:"}]]'
"""

import json
import sys

from celery import Celery

types = []
for number, (broker, options) in enumerate(json.loads(sys.argv[1])):
    app = Celery()
    app.conf.broker_transport_options = options
    types.append(f"task-custom{number}")
    # Otherwise, the variable CELERY_BROKER_URL would win.
    with app.connection_for_write(broker) as connection:
        with app.events.Dispatcher(connection, hostname="w1@shop") as dispatcher:
            dispatcher.send(types[-1], uuid="ü", number=number)
json.dump(types, sys.stdout)
