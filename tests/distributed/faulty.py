"""Work that goes wrong on a worker, or waits there to be killed; what it does is told in files beside the data."""

import os
import signal
import time
from pathlib import Path

from linsep.distributed import work

LEARN = work.learn
"""What is done where nothing goes wrong; a test may have put one of those below in its place."""
HELD = (2, 5)
"""The shards that are held in the second epoch, the first time that they are learned."""


def folder_of(task):
    """The folder of a shard's data."""
    return Path(task.shard.part.spans[0].path).parent


def held_once(task, shared):
    """Learn a shard; in the second epoch some wait, until their worker is killed, and tell its process."""
    note = folder_of(task) / f"held {task[1]}"
    if shared.number == 1 and task[1] in HELD and not note.exists():
        draft = note.with_suffix(".draft")
        draft.write_text(f"{os.getpid()}")
        draft.rename(note)
        time.sleep(60)
    return LEARN(task, shared)


def deadly(task, shared):
    """Learn a shard, but for one, which ends its worker, and tells how often."""
    if shared.number == 1 and task[1] == 3:
        with (folder_of(task) / "deaths").open("a") as file:
            file.write("x")
        os.kill(os.getpid(), signal.SIGKILL)
    return LEARN(task, shared)


def stopped(task, shared):
    """Learn a shard, but for one in the third epoch."""
    if shared.number == 2 and task[1] == 4:
        raise ValueError("enough")
    return LEARN(task, shared)


def set_version(version):
    """Let linsep have another version, and return the one that it had."""
    import linsep

    before, linsep.__version__ = linsep.__version__, version
    return before


def hide():
    """Let linsep be absent from this process."""
    import sys

    hidden = {name: sys.modules.pop(name) for name in list(sys.modules) if name.partition(".")[0] == "linsep"}
    sys.modules["linsep"] = None
    sys.hidden_linsep = hidden


def show():
    """Let linsep be there again."""
    import sys

    sys.modules.update(sys.hidden_linsep)
