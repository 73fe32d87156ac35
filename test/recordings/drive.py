"""
Runs scenarios on the workers that are there, waits until all their tasks are at their end, and prints as one JSON
document what Celery says became of them: final states from the result backend, totals of `inspect stats`, its signals.

    python drive.py plain retries …

Where two of these sources disagree it fails. It never sees an event.
"""

import json
import os
import signal
import sys
import time
from collections import Counter, defaultdict

import celery
from celery import chain, chord, group

import scenarios as s

TIMEOUT_S = 45
# Long enough for several heartbeats without active tasks.
IDLE_S = 7


class Story:
    """Actions other than sending tasks."""

    def __init__(self):
        names = [name for name in os.environ["SCENARIOS_WORKERS"].split(",") if name]
        self.inspect = s.app.control.inspect(destination=names, timeout=5)
        self.killed_totals = {}
        self.lost = {}  # task id -> nodename

    def living(self):
        left = [name for name in self.inspect.destination if name not in self.killed_totals]
        return s.app.control.inspect(destination=left, timeout=5)

    def until(self, what, condition):
        deadline = time.monotonic() + TIMEOUT_S
        while not condition():
            if time.monotonic() > deadline:
                sys.exit(f"it took too long: {what}")
            time.sleep(0.1)

    def revoke_waiting(self):
        """Revokes a task by its id while it waits for its ETA in the memory of a worker."""
        task = s.add.apply_async((5, 5), countdown=2).id
        self.until("held", lambda: task in held(self.inspect.scheduled()))
        s.app.control.revoke(task)

    def terminate(self):
        task = s.nap.delay(20).id
        self.until("running", lambda: s.app.AsyncResult(task).state == "STARTED")
        s.app.control.revoke(task, terminate=True)

    def kill_worker(self):
        """SIGKILL to a worker with three early-acknowledged tasks running, a late one, and two waiting."""
        victim = self.inspect.destination[0]
        early = [s.nap.delay(40).id for _ in range(3)]
        late = s.nap_late.delay(40).id
        one = s.app.control.inspect(destination=[victim], timeout=5)
        self.until("running", lambda: {*early, late} <= held(one.active()))
        waiting = {s.nap.delay(0.1).id for _ in range(2)}
        self.until("waiting", lambda: waiting <= held(one.reserved()))
        # Celery's heartbeat interval is two seconds; the last one reports all of them.
        time.sleep(2.5)
        stats = one.stats()[victim]
        running = held(one.active())
        self.killed_totals[victim] = stats["total"]
        os.killpg(stats["pid"], signal.SIGKILL)
        # Tasks acknowledged before their start are not redelivered.
        self.lost = {task: victim for task in running & set(early)}
        s.app.control.add_consumer("slow", destination=self.living().destination, reply=True, timeout=5)

    def plain(self):
        for n in range(3):
            s.add.delay(n, n)
        s.add_late.delay(1, 2)
        s.lack.delay("teapot")
        s.decline.delay()
        s.lack_as_expected.delay("kettle")
        s.tell_progress.delay()
        s.add.apply_async((1, 1), countdown=1)

    def retries(self):
        s.be_busy.delay(1)
        s.be_busy.delay(9)
        s.retry_for.delay()
        s.retry_blindly.delay()

    def expire(self):
        """Its ETA is later than its expiry, so it expires in the worker that holds it."""
        s.add.apply_async((6, 6), countdown=2, expires=1)

    def no_result(self):
        s.ignore.delay()
        s.reject.delay()
        s.hand_back.delay()

    def reject_too_late(self):
        s.reject_too_late.delay()

    def workflows(self):
        chain(s.add.si(1, 1), s.add_late.si(2, 2), s.gather.si([1, 2])).delay()
        chain(s.add.si(1, 1), s.lack.si("spoon"), s.gather.si([1, 2])).delay()
        group(s.add.si(n, n) for n in range(3)).delay()
        chord((s.add.si(n, n) for n in range(3)), s.gather.s()).delay()

    def replacements(self):
        s.replace.delay()
        s.replace_by_group.delay()

    def limits(self):
        s.exceed_soft_limit.delay()
        s.exceed_hard_limit.delay()

    def hard_limit(self):
        s.exceed_hard_limit.delay()

    def deaths(self):
        s.die.delay()
        s.die_once.delay()
        s.leave.delay()

    def naps(self):
        for _ in range(10):
            s.nap.delay(0.5)

    def delays(self):
        """Retries and ETAs delayed by the broker, in whole seconds."""
        for _ in range(3):
            s.add.delay(1, 1)
        s.add.apply_async((2, 2), countdown=1)
        s.add.apply_async((3, 3), countdown=2)
        s.be_busy.delay(1)
        s.be_busy.delay(9)


def held(reply):
    """The task ids in a reply to inspect."""
    entries = [entry for entries in (reply or {}).values() for entry in entries]
    return {entry.get("request", entry)["id"] for entry in entries}


def journal():
    with open(os.environ["SCENARIOS_JOURNAL"], encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def are_all_over(story):
    lines = journal()
    no_result = {line["id"] for line in lines if line["what"] == "ignored" or line.get("why") == "dropped"}
    waiting = {line["id"] for line in lines if line["what"] == "published"} - no_result - set(story.lost)
    return all(s.app.AsyncResult(task).ready() for task in waiting)


def is_idle(story):
    inspect = story.living()
    return not any(held(reply) for reply in (inspect.active(), inspect.reserved(), inspect.scheduled()))


def reported(story):
    """Celery's own report by task name."""
    tasks = defaultdict(lambda: defaultdict(Counter))
    names = {}
    for line in journal():
        tasks[line["name"]][line["what"]][line.get("why", "times")] += 1
        if line["what"] == "published":
            # A replaced task continues with the same id and another name.
            names[line["id"]] = line["name"]
    for task, name in names.items():
        result = s.app.AsyncResult(task)
        tasks[name]["states"][result.state] += 1
        if result.state == "FAILURE":
            tasks[name]["errors"][type(result.result).__name__] += 1
        if task in story.lost:
            tasks[name]["lost"]["times"] += 1
    return tasks


def expected(tasks, workers):
    """How often each event must occur, by Celery's report."""
    is_new = tuple(map(int, celery.__version__.split(".")[:2])) >= (5, 7)
    counters = {}
    for name, said in tasks.items():
        runs = said["run"]["times"]
        agree(f"{name}: runs", runs, sum(totals.get(name, 0) for totals in workers.values()))
        agree(f"{name}: revoked", said["states"]["REVOKED"], sum(said["revoked"].values()))
        # Newer Celery stores a rejection as a failure; before, it stored nothing.
        failed = {why: times for why, times in said["errors"].items() if why != "Reject"}
        if is_new:
            agree(f"{name}: rejected", said["errors"]["Reject"], said["rejected"]["dropped"])
        counters[name] = {
            "sent": said["published"]["times"] if s.app.conf.task_send_sent_event else 0,
            "received": said["received"]["times"],
            "started": runs,
            "succeeded": said["states"]["SUCCESS"],
            "failed": failed,
            "retried": said["retried"],
            "rejected": said["rejected"],
            "revoked": said["revoked"],
            "lost": said["lost"]["times"],
        }
    return counters


def agree(what, one, other):
    if one != other:
        sys.exit(f"Celery disagrees with itself: {what}: {one} or {other}")


def main():
    signal.alarm(3 * TIMEOUT_S)
    story = Story()
    for name in sys.argv[1:]:
        getattr(story, name)()
    story.until("all over", lambda: are_all_over(story))
    story.until("idle", lambda: is_idle(story))
    time.sleep(IDLE_S)
    stats = story.living().stats()
    workers = {name: stats[name]["total"] for name in stats}
    workers.update(story.killed_totals)
    tasks = reported(story)
    router = s.app.amqp.router
    document = {
        "celery": celery.__version__,
        "expected": expected(tasks, workers),
        "queues": {name: router.route({}, name)["queue"].name for name in tasks},
        "reported": {"tasks": tasks, "workers": workers},
    }
    json.dump(document, sys.stdout, sort_keys=True)


if __name__ == "__main__":
    main()
