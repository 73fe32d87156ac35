"""
The example shop, whose workers serialize their replies to remote control as tasks: with pickle.

    PYTHONPATH=examples/shop celery --app shop_with_pickle worker
"""

import shop

app = shop.app
app.conf.task_serializer = "pickle"
