"""What a learner that goes row by row counts on its way."""

from collections.abc import Callable
from typing import Any

from linsep.core.arrays import Array
from linsep.core.readouts import MISTAKES, SKIPPED, UPDATES
from linsep.learners.machine import Machine
from linsep.learners.mixes import Mixes
from linsep.learners.record import Record


class Counts:
    """The part of a learner that tells of its rounds; all counts are 0 where a solver saw all rows at once."""

    classes_: Array
    _open: bool
    _fitted: Callable[[], Machine]

    @property
    def mistakes_(self) -> Any:
        """How often y * score <= 0 before the update; per class for one-vs-rest of three classes or more."""
        return self._count(MISTAKES)

    @property
    def updates_(self) -> Any:
        """How often the rule added to the weights; per class as for `mistakes_`."""
        return self._count(UPDATES)

    @property
    def skipped_(self) -> Any:
        """Mistakes on which the rule added nothing; per class as for `mistakes_`."""
        return self._count(SKIPPED)

    @property
    def errors_(self) -> int:
        """Rows whose label was not the one that the scores before the update were for: the progressive error, times t_.

        A score of 0, or a tie, counts as an error. For two classes and for pairs these are the mistakes. For more, one
        against the rest, they are counted as one thread sees all scores, and these can be compared (so not Winnow's).
        """
        errors = self._fitted().errors
        if errors is None:
            raise AttributeError(
                "errors_ was not counted: several threads shared the classes (n_jobs=1 counts it), or the weights "
                "are known only up to a factor for each class"
            )
        return errors

    @property
    def t_(self) -> int:
        """Rounds so far."""
        return int(self._fitted().tally.rounds[0])

    @property
    def log_(self) -> Record:
        """The updates in order; see :class:`linsep.learners.record.Record`."""
        machine = self._fitted()
        if machine.no_log_because:
            raise AttributeError(f"no log was kept: {machine.no_log_because}")
        record = machine.record()
        if self._open and not machine.pair:
            return record.of_classes(len(self.classes_))
        return record

    @property
    def mixes_(self) -> Mixes:
        """The rows, mistakes and weights of all shards; see :class:`linsep.learners.mixes.Mixes`."""
        machine = self._fitted()
        if machine.mixed is None:
            raise AttributeError("no shards were mixed: without shards, or with one, all rows are learned one by one")
        return Mixes.of(machine.mixed, self._machines())

    def _count(self, what: int) -> Any:
        counts, machines = self._fitted().tally.counts[what], self._machines()
        return counts[machines].copy() if isinstance(machines, slice) else int(counts[machines])

    def _machines(self) -> slice | int:
        """Return the columns of machines that stand for classes; the one that does for two, or for pairs."""
        machine, known = self._fitted(), len(self.classes_)
        if machine.pair or machine.columns == 1:
            return 0
        return 1 if known == 2 else slice(known)
