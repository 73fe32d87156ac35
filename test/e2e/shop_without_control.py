"""
The example shop, whose workers take no remote control.

    PYTHONPATH=examples/shop celery --app shop_without_control worker
"""

import shop

app = shop.app
app.conf.worker_enable_remote_control = False
