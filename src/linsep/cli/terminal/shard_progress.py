"""What fit shows while shards are learned: a bar on a terminal; elsewhere a line each time the rows have doubled."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING

from linsep.cli.terminal.output import short
from linsep.cli.terminal.training_progress import Watching

if TYPE_CHECKING:
    from linsep.distributed.training import Progress


class WatchingShards(Watching):
    """Follows a training on shards.

    Attributes
    ----------
    rows, rejected, gone : int
        Rows of an epoch, malformed ones that were left out, and workers that were lost.
    began, looked : float
        When workers were ready, by `perf_counter`, and the seconds until all shards had been looked at once.
    """

    def __init__(self, shown: bool = True) -> None:
        super().__init__(shown)
        self.rows, self.rejected, self.looked, self.began, self.gone = 0, 0, 0.0, 0.0, 0
        self.start: Progress | None = None
        """How far it had come when the first epoch of this run began."""
        self.last: Progress | None = None

    @property
    def moved(self) -> int | None:
        """Bytes of weights that were sent in an epoch, on average."""
        if self.start is None or self.last is None or not self.last.sent:
            return None
        return round(self.last.sent / (self.last.epoch - self.start.epoch + 1))

    @contextmanager
    def learning_shards(self, epochs: int, kept: Path | None) -> Iterator[None]:
        """Show how far the learning has come, of so many epochs; say where it goes on, if an epoch is kept."""
        self.epochs, self.kept = epochs, kept
        there = kept is not None and kept.exists()
        with self._showing("looking at the shards"):
            yield
        if there and self.start is None:
            self._say(f"linsep fit: {kept} has all epochs already")
        last, start = self.last, self.start
        if (
            last is not None
            and start is not None
            and last.rows > start.rows
            and self._line != (last.epoch, last.shards)
        ):
            self._tell_shards(last, self._speed(last, start))

    def shards(self, now: "Progress") -> None:
        """Hear how far it has come."""
        if now.gone > self.gone or now.waiting:
            self._lost(now)
        if now.waiting:
            return
        if now.epoch == 0:
            self.began = self.began or perf_counter() - now.seconds
            self.rows, self.rejected, self.looked = now.rows, now.rejected, now.seconds
            if self.bar is not None:
                said = f"{now.shards} of {now.of} shards, {now.rows:,} rows"
                self.bar.bars.update(self.bar.task, completed=now.shards, total=now.of, said=said)
            return
        if self.start is None:
            self._begin(now)
        self.last = now
        self._learned(now, now if self.start is None else self.start)

    def _lost(self, now: "Progress") -> None:
        """Say that workers are lost, and what is done about it."""
        self.gone = now.gone
        if self.bar is not None or self.lines:
            what = "one is waited for, a minute at most" if now.waiting else "others do the work again"
            self._say(f"linsep fit: {now.gone} worker{'s' * (now.gone != 1)} lost so far; {what}")

    def _begin(self, now: "Progress") -> None:
        self.start, self._before = now, (now.rows, now.errors or 0)
        if now.epoch > 1:
            self._say(f"linsep fit: goes on after epoch {now.epoch - 1}, which {self.kept} has")

    def _learned(self, now: "Progress", start: "Progress") -> None:
        """Show what was learned since this run began."""
        rows, errors = now.rows - start.rows, None if now.errors is None else now.errors - self._before[1]
        speed = self._speed(now, start)
        self._note(rows, errors)
        if now.epoch == 1 and now.shards == now.of:
            self.first_epoch = rows, errors
        if self.bar is not None:
            self._move(now, speed)
        if rows and rows >= self._power:
            self._tell_shards(now, speed)
            self._power = 1 << rows.bit_length()

    def _speed(self, now: "Progress", start: "Progress") -> float:
        return (now.rows - start.rows) / max(now.seconds - start.seconds, 1e-9)

    def _move(self, now: "Progress", speed: float) -> None:
        """Move the bar on."""
        assert self.bar is not None
        what = "learning" if self.epochs == 1 else f"epoch {now.epoch} of {self.epochs}"
        said = f"{now.shards} of {now.of} shards" + (f", {short(speed)} rows/s" if speed else "")
        said += f", {now.mistakes:,} mistakes" if now.mistakes else ""
        done, all = (now.epoch - 1) * now.of + now.shards, self.epochs * now.of
        self.bar.bars.update(self.bar.task, description=what, completed=done, total=all, said=said)

    def _tell_shards(self, now: "Progress", speed: float) -> None:
        if not self.lines:
            return
        if self._line == (0, 0):
            self._say(f"{'epoch':>8}  {'shards':>12}  {'rows':>14}  {'mistakes':>12}  {'rows/s':>8}")
        self._line = now.epoch, now.shards
        shards = f"{now.shards} of {now.of}"
        self._say(f"{now.epoch:>8,}  {shards:>12}  {now.rows:>14,}  {now.mistakes:>12,}  {short(speed):>8}")
