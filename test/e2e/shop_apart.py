"""
The example shop with exchanges and queues of its own, as applications have them that share a virtual host: all are called
after SHOP_NAME. It is the application of a worker, and run as a script it takes the arguments of place_orders.py.

    SHOP_NAME=billing PYTHONPATH=examples/shop python shop_apart.py --orders 10 --only basket
"""

import os

import shop

app = shop.app
name = os.environ["SHOP_NAME"]
app.conf.update(
    task_default_exchange=name,
    task_default_queue=name,
    task_routes={},
    event_exchange=f"{name}.celeryev",
    event_queue_prefix=f"{name}.celeryev",
    control_exchange=name,
)

if __name__ == "__main__":
    import place_orders

    place_orders.main()
