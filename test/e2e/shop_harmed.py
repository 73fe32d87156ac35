"""
The example shop with a value, in its settings or queues, that Celery takes and that a reply to remote control cannot hold. On Redis, a
worker with kombu before 5.7 that is asked for it stops consuming for good.

    SHOP_HARM=range PYTHONPATH=examples/shop celery --app shop_harmed worker --queues range
"""

import enum
import numbers
import os
from datetime import timedelta
from fractions import Fraction

import shop
from kombu import Exchange, Queue, binding

app = shop.app
harm = os.environ["SHOP_HARM"]


class LazyText:
    """As Django's SimpleLazyObject: it passes for a text, and is none."""

    __class__ = property(lambda self: str)


@numbers.Real.register
class Single:
    """As numpy.float32: it passes for a number, and is none."""


class Color(enum.Enum):
    RED = "red"


def settings(**values):
    app.conf.update(values)


def queue(**options):
    app.conf.task_queues = [Queue(harm, **options)]


HARMS = {
    "plain": lambda: None,
    "lazy": lambda: settings(SHOP_NAME=LazyText()),
    "fraction": lambda: settings(SHOP_SHARE=Fraction(1, 3)),
    "single": lambda: settings(SHOP_SHARE=Single()),
    "range": lambda: settings(
        broker_transport_options={**app.conf.broker_transport_options, "priority_steps": range(10)}
    ),
    "yaml": lambda: settings(task_serializer="yaml", accept_content=["json", "yaml"]),
    "timedelta": lambda: queue(queue_arguments={"x-expires": timedelta(days=1)}),
    "set": lambda: queue(consumer_arguments={"x-tags": {1, 2}}),
    "enum": lambda: queue(exchange=Exchange("enum", arguments={"x-color": Color.RED}), routing_key="enum"),
    "binding": lambda: queue(bindings=[binding(Exchange("binding"), arguments={"x-after": timedelta(1)})]),
}
HARMS[harm]()
