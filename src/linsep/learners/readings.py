"""What all readouts of a run say of the same rows, after so many rounds."""

from dataclasses import dataclass

import numpy as np

from linsep.core.arrays import Array


def reading_name(readout: str, normalize: bool) -> str:
    """Return what a readout is called, of weights divided by their lengths or not.

    >>> reading_name("average", True), reading_name("vote", False)
    ('average, normalised', 'vote')
    """
    return f"{readout}, normalised" if normalize else readout


@dataclass(frozen=True)
class Readings:
    """Every readout at once, at each checkpoint as if training had stopped there.

    Attributes
    ----------
    rounds : (checkpoints,)
    scores : dict from (readout, normalize) to (checkpoints, rows, columns)
        One column for two classes, else one for each.
    classes : array
        The labels.
    mistakes : (checkpoints,)
        Updates so far, of all machines together.
    support : (checkpoints,)
        Distinct rows among them.
    """

    rounds: Array
    scores: dict[tuple[str, bool], Array]
    classes: Array
    mistakes: Array
    support: Array

    def predict(self, readout: str, normalize: bool = False) -> Array:
        """Return the labels, (checkpoints, rows): a score of 0 is the negative class, ties go to the lower one."""
        if (readout, normalize) not in self.scores:
            raise ValueError(f"there is no reading {(readout, normalize)}; there are {sorted(self.scores)}")
        scores = self.scores[readout, normalize]
        codes = (scores[..., 0] > 0).astype(np.intp) if scores.shape[-1] == 1 else np.argmax(scores, axis=-1)
        return self.classes[codes]
