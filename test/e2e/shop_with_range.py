"""
The example shop with priorities in a form that Celery takes, and that JSON cannot encode in a reply to `stats`.

    PYTHONPATH=examples/shop celery --app shop_with_range worker
"""

import shop

app = shop.app
app.conf.broker_transport_options = {**app.conf.broker_transport_options, "priority_steps": range(10)}
