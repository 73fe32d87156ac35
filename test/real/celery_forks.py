"""
Runs Celery's programs as forks of this process, which has imported Celery once: the imports take most of the processor time of a start.
It listens on a UNIX socket and reads one request a connection: a line of JSON with the arguments of Python (`-m MODULE …`,
`-c CODE …` or `SCRIPT …`), environment, folder and the files for both outputs. It answers with the program's pid, and once that has ended,
how. A program whose connection ends is killed with its process group; so are all when this process is terminated. It imports no application.
"""

import ctypes
import gc
import importlib
import json
import os
import runpy
import select
import signal
import socket
import sys
import time

# With what these import, nearly all that a worker on prefork, threads or solo loads, and a client; not what reads the environment when it is
# imported, as celery.worker.autoscale does.
MODULES = (
    "celery.__main__",
    "celery.apps.worker",
    "celery.backends.redis",
    "celery.bin.celery",
    "celery.concurrency.prefork",
    "celery.concurrency.solo",
    "celery.concurrency.thread",
    "celery.events.snapshot",
    "celery.utils.dispatch",
    "celery.worker.components",
    "celery.worker.consumer",
    "celery.worker.control",
    "celery.worker.strategy",
    "kombu.transport.pyamqp",
    "kombu.transport.redis",
)
PR_SET_PDEATHSIG = 1


class Server:
    """Forks a process for each request, and reports how each ended."""

    def __init__(self, path):
        self.libc = ctypes.CDLL(None)
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(path)
        self.listener.listen(64)
        # An ended child wakes the loop.
        self.woken, wakes = socket.socketpair()
        wakes.setblocking(False)
        self.woken.setblocking(False)
        self.wakes = wakes
        signal.set_wakeup_fd(wakes.fileno())
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(self.end_all()))
        # The connection of each, by pid.
        self.children = {}

    def next_request(self):
        """Serves for ever in the parent; returns in each child, with its request."""
        while True:
            connections = {connection: pid for pid, connection in self.children.items()}
            ready, _, _ = select.select([self.listener, self.woken, *connections], [], [])
            for source in ready:
                if source is self.woken:
                    self.woken.recv(4096)
                elif source is self.listener:
                    request = self.accept()
                    if request is not None:
                        return request
                elif is_over(source) and connections[source] in self.children:
                    self.end(connections[source])
            self.reap()

    def accept(self):
        """The request in the child, None in the parent."""
        connection, _ = self.listener.accept()
        with connection.makefile("r", encoding="utf-8") as lines:
            line = lines.readline()
        # Whoever is killed may leave half a line.
        if not line.endswith("\n"):
            connection.close()
            return None
        request = json.loads(line)
        parent = os.getpid()
        pid = os.fork()
        if pid == 0:
            self.become_child(connection, parent)
            return request
        # In both, so that whoever has the pid can signal the group.
        os.setpgid(pid, pid)
        self.children[pid] = connection
        tell(connection, str(pid))
        return None

    def become_child(self, connection, parent):
        os.setpgid(0, 0)
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        # If this process is killed: for a worker a cold shutdown, which also ends its pool.
        self.libc.prctl(PR_SET_PDEATHSIG, signal.SIGQUIT)
        if os.getppid() != parent:
            os._exit(1)
        for each in (connection, self.listener, self.woken, self.wakes):
            each.close()
        for other in self.children.values():
            other.close()
        self.children.clear()

    def end(self, pid):
        self.children.pop(pid).close()
        os.killpg(pid, signal.SIGKILL)

    def end_all(self):
        for pid in list(self.children):
            self.end(pid)

    def reap(self):
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            connection = self.children.pop(pid, None)
            if connection is None:
                continue
            code = os.waitstatus_to_exitcode(status)
            tell(connection, f"exit code {code}" if code >= 0 else signal.Signals(-code).name)
            connection.close()


def tell(connection, text):
    try:
        connection.sendall(f"{text}\n".encode())
    except OSError:
        # Nobody waits for it any more; that its end is closed is noticed as such.
        pass


def is_over(connection):
    """Whether whoever asked is gone, perhaps before it has read what it was told."""
    try:
        return connection.recv(1) == b""
    except OSError:
        return True


def run(request):
    """As `python ARGS…` would."""
    os.chdir(request["cwd"])
    os.environ.clear()
    os.environ.update(request["env"])
    time.tzset()
    sys.path[1:1] = [folder for folder in os.environ.get("PYTHONPATH", "").split(os.pathsep) if folder]
    for number, path, flags in (
        (0, os.devnull, os.O_RDONLY),
        (1, request["stdout"], os.O_WRONLY | os.O_APPEND | os.O_CREAT),
        (2, request["stderr"], os.O_WRONLY | os.O_APPEND | os.O_CREAT),
    ):
        opened = os.open(path, flags, 0o600)
        os.dup2(opened, number)
        os.close(opened)
    first, *rest = request["args"]
    if first == "-m":
        module, *rest = rest
        # Not by runpy: Celery's lazy module has no specification once it is imported.
        program = importlib.import_module(f"{module}.__main__")
        sys.path[0] = request["cwd"]
        sys.argv = [program.__file__, *rest]
        program.main()
    elif first == "-c":
        code, *rest = rest
        sys.path[0] = request["cwd"]
        sys.argv = ["-c", *rest]
        exec(compile(code, "<string>", "exec"), {"__name__": "__main__"})
    else:
        sys.path[0] = os.path.dirname(os.path.abspath(first))
        sys.argv = [first, *rest]
        runpy.run_path(first, run_name="__main__")


for name in MODULES:
    importlib.import_module(name)
server = Server(sys.argv[1])
gc.collect()
gc.freeze()
print("ready", flush=True)
run(server.next_request())
