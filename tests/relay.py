"""Stand for a process that the server of :mod:`tests.processes` forks: `python -I -S relay.py SERVER ARGS`."""

import json
import os
import resource
import signal
import socket
import sys


def is_open(number):
    """Return whether a standard stream is open."""
    try:
        os.fstat(number)
    except OSError:
        return False
    return True


def main():
    """Have the process forked, pass signals on, and end as it does."""
    numbers = [number for number in range(3) if is_open(number)]
    while (nothing := os.open(os.devnull, os.O_RDWR)) < 3:
        pass
    client = socket.socket(socket.AF_UNIX)
    client.connect(sys.argv[1])
    request = {"args": sys.argv[2:], "numbers": numbers, "folder": os.getcwd(), "environment": dict(os.environ)}
    socket.send_fds(client, [b" "], numbers or [nothing])
    client.sendall(json.dumps(request).encode() + b"\n")
    for number in range(3):
        os.dup2(nothing, number)
    answers = client.makefile()
    child = int(answers.readline())
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda number, _: os.kill(child, number))
    status = int(answers.readline())
    if status < 0:
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        if status != -signal.SIGKILL:
            signal.signal(-status, signal.SIG_DFL)
        os.kill(os.getpid(), -status)
    os._exit(status)


if __name__ == "__main__":
    main()
