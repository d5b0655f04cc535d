"""Shards on threads and clusters: `fit`, `predict`, `evaluate`."""

from linsep.distributed.answering import answers, evaluate, predict
from linsep.distributed.connecting import local_workers
from linsep.distributed.training import Progress, fit
from linsep.distributed.versions import ScaleError

__all__ = ["Progress", "ScaleError", "answers", "evaluate", "fit", "local_workers", "predict"]
