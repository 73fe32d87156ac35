"""
The example shop, whose workers serialize their replies to remote control as tasks: with YAML, which cannot encode all of them.

    PYTHONPATH=examples/shop celery --app shop_with_yaml worker
"""

import shop

app = shop.app
app.conf.task_serializer = "yaml"
app.conf.accept_content = ["json", "yaml"]
