"""`linsep` in processes of their own that begin at once: forked from a server that has loaded what commands need.

To load it takes more than a second. The arguments of :func:`forked` begin a relay (`relay.py`). The relay hands its
standard streams, folder and environment to the server, passes signals on, and ends as the forked process does. That
process ends as any interpreter does, so that errors of the last flush are seen. Tests of loading need a new process.
"""

import atexit
import gc
import io
import json
import os
import pkgutil
import select
import signal
import socket
import subprocess
import sys
import tempfile
from functools import cache
from importlib import import_module
from multiprocessing import forkserver
from pathlib import Path

NEEDED = (
    "linsep.cli.app", "linsep.cli.commands", "linsep.cli.jobs", "linsep.data", "linsep.estimators", "linsep.models",
)  # fmt: skip
"""The packages of which the server loads all modules."""
RELAY = Path(__file__).with_name("relay.py")
STATE = []
"""The process of the server, and its folder."""


def forked(*args):
    """Return a command that stands for `python -m linsep ARGS`, or for `python ARGS` if the first of them is -c."""
    return [sys.executable, "-I", "-S", str(RELAY), start(), *map(str, args)]


@cache
def fork_workers():
    """Have Dask fork the workers of this process from a server that has loaded linsep."""
    import dask
    from distributed.utils import get_mp_context

    dask.config.set({"distributed.worker.multiprocessing-method": "forkserver"})
    get_mp_context().set_forkserver_preload(["distributed", "linsep.distributed", *NEEDED])


@cache
def start():
    """Start the server; return its address."""
    folder = tempfile.TemporaryDirectory()
    address = os.path.join(folder.name, "server")
    root = Path(__file__).parents[1]
    command = [sys.executable, "-c", "from tests import processes; processes.serve()", address]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=root)
    assert process.stdout.readline() == b"ready\n"
    STATE[:] = process, folder
    atexit.register(stop)
    return address


def stop():
    """End the servers, so that their time counts as that of children."""
    if fork_workers.cache_info().currsize:
        forkserver._forkserver._stop()
    if STATE:
        process, folder = STATE
        process.communicate()
        folder.cleanup()
        STATE.clear()
        start.cache_clear()


def serve():
    """Fork a process for each client, until standard input ends; return in the forked process when it has its work."""
    for name in NEEDED:
        package = import_module(name)
        for module in pkgutil.iter_modules(getattr(package, "__path__", []), f"{name}."):
            import_module(module.name)
    gc.freeze()  # what is loaded is no garbage, in no process
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(sys.argv[1])
        server.listen()
        os.write(1, b"ready\n")
        while server in select.select([server, 0], [], [])[0]:
            client, _ = server.accept()
            if os.fork() == 0:
                server.close()
                watch(client)
                return
            client.close()
            while reaped():
                pass
    while reaped(0):
        pass


def reaped(options=os.WNOHANG):
    """Return whether a child had ended; without options, wait for one."""
    try:
        return os.waitpid(-1, options)[0] != 0
    except ChildProcessError:
        return False


def watch(client):
    """Fork the process that works, report how it ends, and end; return in the process that works."""
    numbers = socket.recv_fds(client, 1, 3)[1]
    with client.makefile() as file:
        request = json.loads(file.readline())
    child = os.fork()
    if child:
        client.sendall(b"%d\n" % child)
        for number in numbers:
            os.close(number)
        if client in select.select([os.pidfd_open(child), client], [], [])[0]:  # the relay was killed
            os.kill(child, signal.SIGKILL)
            os._exit(0)
        client.sendall(b"%d\n" % os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
        os._exit(0)
    client.close()
    become(request, numbers)


def become(request, numbers):
    """Take over the client's streams, folder and environment, and do its work."""
    for number in range(3):
        os.close(number)
    for number, source in zip(request["numbers"], numbers, strict=False):
        os.dup2(source, number)
    for number in numbers:
        os.close(number)
    os.environ.clear()
    os.environ.update(request["environment"])
    os.chdir(request["folder"])
    raw = bool(os.environ.get("PYTHONUNBUFFERED"))
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        stream = None
        if number in request["numbers"]:
            mode, room = ("rb", -1) if number == 0 else ("wb", 0 if raw else -1)
            file = open(number, mode, room, closefd=False)  # noqa: SIM115 - it stays open
            errors = "backslashreplace" if number == 2 else "strict"
            lines = number == 2 or file.isatty()
            stream = io.TextIOWrapper(file, errors=errors, line_buffering=lines, write_through=raw)
        setattr(sys, name, stream)
        setattr(sys, f"__{name}__", stream)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    args = request["args"]
    if args[0] == "-c":
        sys.argv = args[:1] + args[2:]
        exec(compile(args[1], "<string>", "exec"), {"__name__": "__main__"})
    else:
        from linsep.cli import main

        sys.argv = ["linsep", *args]
        main()
