"""
Feeds a recording to Celery's own idea of a cluster, `celery.events.state.State`, and prints what it then knows:

    python second_opinion.py FILE.ndjson

    {"tasks": {"scenarios.add": {"SUCCESS": 3}}, "workers": ["w1@shop-a"], "events": 123}

It uses nothing of celery-otel but the recording.
"""

import base64
import json
import sys
from collections import Counter, defaultdict

from celery.events.state import State


def events(path):
    """The events of a recording in order of arrival, as Celery's receiver yields them."""
    with open(path, encoding="utf-8") as lines:
        next(lines)
        for line in lines:
            message = json.loads(line)
            body = message["body"] if "body" in message else base64.b64decode(message["bodyBase64"])
            value = json.loads(body)
            for event in value if isinstance(value, list) else [value]:
                yield {**event, "local_received": message["arrivedAtMs"] / 1000}


def main():
    state = State()
    for event in events(sys.argv[1]):
        state.event(event)
    tasks = defaultdict(Counter)
    for _, task in state.itertasks():
        tasks[task.name][task.state] += 1
    document = {"tasks": tasks, "workers": sorted(state.workers), "events": state.event_count}
    json.dump(document, sys.stdout, sort_keys=True)


if __name__ == "__main__":
    main()
