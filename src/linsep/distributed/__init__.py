"""Train, predict and evaluate on shards of data, with threads or on a Dask cluster."""

from linsep.distributed.cluster import ClusterError, local_workers
from linsep.distributed.predicting import evaluate, predict, predictions
from linsep.distributed.training import TrainingStatus, fit

__all__ = ["ClusterError", "TrainingStatus", "evaluate", "fit", "local_workers", "predict", "predictions"]
