"""
The example shop, whose workers send no task events unless they are told to: Celery's own default.

    PYTHONPATH=examples/shop celery --app shop_without_events worker
"""

import shop

app = shop.app
app.conf.worker_send_task_events = False
