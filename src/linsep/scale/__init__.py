"""Shards on threads and clusters: `fit`, `predict`, `evaluate`."""

from linsep.scale.answering import answers, evaluate, predict
from linsep.scale.connecting import local_workers
from linsep.scale.training import Progress, fit
from linsep.scale.versions import ScaleError

__all__ = ["Progress", "ScaleError", "answers", "evaluate", "fit", "local_workers", "predict"]
