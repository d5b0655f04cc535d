"""Shards on threads and clusters: `fit`, `predict`, `evaluate`."""

from linsep.distributed.answering import answers, evaluate, predict
from linsep.distributed.connecting import local_workers
from linsep.distributed.training import Progress, fit
from linsep.distributed.versions import ClusterError

__all__ = ["ClusterError", "Progress", "answers", "evaluate", "fit", "local_workers", "predict"]
