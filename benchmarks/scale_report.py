"""How the study of scale is written down: tables for its page, and every number in a file."""

from collections.abc import Sequence
from typing import Any

from benchmarks.scale_accuracy import LATE, METHODS, ByShards, Run, grouped, mean
from benchmarks.scale_model import Costs, Place, Plan, epoch, kept, knee, variants
from benchmarks.scale_overhead import Cost
from benchmarks.scale_speed import Pair, Speed

WORKERS = (10, 100, 1000)
WEIGHTS = (1e6, 1e8)
FILLED = 0.01
"""The share of weights that a shard changes, where gains are sparse."""
READINGS = {"first epoch": False, "later epochs": None}
"""Whether rows are in memory; None: if they fit."""

Told = dict[str, Any]


def numbers(part: str, found: Any) -> Any:
    """Return what a part of the study found, as JSON has it."""
    if part == "speed":
        return found._asdict() | {"pairs": [pair._asdict() for pair in found.pairs]}
    return [one._asdict() for one in found]


def speed_of(told: Told) -> Speed:
    """Return the timed pairs of a study that was written down."""
    return Speed(**told["speed"] | {"pairs": [Pair(**pair) for pair in told["speed"]["pairs"]]})


def costs_of(told: Told) -> list[Cost]:
    """Return the costs of epochs of a study that was written down."""
    return [Cost(**cost) for cost in told["overhead"]]


def runs_of(told: Told) -> list[Run]:
    """Return the runs of a study that was written down."""
    return [Run(**run) for run in told["accuracy"]]


def measured_costs(told: Told) -> Costs:
    """Return what the model on paper is fed with: the time of one core, and of the engine."""
    speed, costs = speed_of(told), costs_of(told)
    one = {pair.epochs: pair for pair in speed.pairs if (pair.work, pair.by) == ("file to model", "threads")}
    rows = one[1].rows
    learn = (one[10].one - one[1].one) / 9 / rows
    large, few = (
        next(
            c for c in costs if c.learner.startswith("averaged") and c.kind == "dense" and (c.weights > 10_000) == many
        )
        for many in (True, False)
    )
    return Costs(
        row_bytes=speed.bytes / rows, kept_bytes=speed.kept / rows, parse=one[1].one / rows - learn, learn=learn,
        byte=(large.median - few.median) / large.sent, task=few.median / few.shards,
    )  # fmt: skip


def busy(told: Told, part: str) -> list[str]:
    """Return a warning if other programs had a part of the machine while this was timed; its own work is a load, too.

    >>> busy({"about": {"speed": {"load_after": 7.0, "machine": {"cores": 2}}}}, "speed")[1]
    '**The machine was busy (a load of 7.0 on 2 cores): these times say little, and are to be measured again.**'
    >>> busy({"about": {"speed": {"load_after": 2.5, "machine": {"cores": 2}}}}, "speed")
    []
    """
    load, cores = told["about"][part]["load_after"], told["about"][part]["machine"]["cores"]
    if load <= cores + 1:
        return []
    seen = f"a load of {load:.1f} on {cores} cores"
    return ["", f"**The machine was busy ({seen}): these times say little, and are to be measured again.**"]


def speed_table(told: Told) -> list[str]:
    """Return the table of one against two."""
    lines = ["| work | by | one: rows/s | two: rows/s | times |", "|---|---|---:|---:|---:|"]
    for pair in speed_of(told).pairs:
        work = pair.work + (f", {pair.epochs} epoch{'s' * (pair.epochs > 1)}" if pair.epochs else "")
        each = (f"{pair.rows / seconds:,.0f}" for seconds in (pair.one, pair.two))
        lines.append(f"| {work} | {pair.by} | {' | '.join(each)} | {pair.ratio:.2f} |")
    return lines + busy(told, "speed")


def overhead_table(told: Told) -> list[str]:
    """Return the table of what an epoch costs beside learning."""
    lines = ["| learner | weights | s an epoch | moved | as dense float64 |", "|---|---|---:|---:|---:|"]
    for cost in costs_of(told):
        moved = (f"{size / 1e6:,.2f} MB" for size in (cost.sent, cost.plain))
        lines.append(f"| {cost.learner} | {cost.weights:,}, {cost.kind} | {cost.median:.2f} | {' | '.join(moved)} |")
    return lines + busy(told, "overhead")


def accuracy_table(told: Told) -> list[str]:
    """Return the table of accuracy after the last epoch: means, differences to serial, and those of each seed."""
    lines = [
        f"| set, learner | {' | '.join(METHODS)} | iterative − serial, by seed |",
        f"|---|{'---:|' * len(METHODS)}---|",
    ]
    for (name, learner), found in grouped(runs_of(told)).items():
        lines.append(f"| {name}, {learner} | {' | '.join(_means(found))} | {_by_seed(found)} |")
    return lines


def shards_table(told: Told) -> list[str]:
    """Return the table of accuracy by the number of shards: means over seeds."""
    found = [ByShards(**one) for one in told["shards"]]
    many = dict.fromkeys(one.shards for one in found)
    heads = " | ".join(f"{count} shards" if count else "serial" for count in many)
    lines = [f"| set, epochs | {heads} |", f"|---|{'---:|' * len(many)}"]
    for name in dict.fromkeys(one.set for one in found):
        for k, epochs in enumerate(LATE):
            of_count = ([one.accuracy[k] for one in found if (one.set, one.shards) == (name, count)] for count in many)
            lines.append(f"| {name}, {epochs} | {' | '.join(f'{100 * sum(of) / len(of):.2f}' for of in of_count)} |")
    return lines


def _means(found: Sequence[Run]) -> list[str]:
    serial = 100 * mean(found, "serial")[-1]
    rest = [100 * mean(found, method)[-1] for method in METHODS[1:]]
    return [f"{serial:.2f}", *(f"{value:.2f} ({value - serial:+.2f})" for value in rest)]


def _by_seed(found: Sequence[Run]) -> str:
    gaps = (100 * (run.accuracy["iterative"][-1] - run.accuracy["serial"][-1]) for run in found)
    return ", ".join(f"{gap:+.2f}" for gap in gaps)


def model_table(told: Told) -> list[str]:
    """Return the table of the model on paper: seconds of an epoch, what takes longest, and the knee."""
    costs, place = measured_costs(told), Place()
    heads = " | ".join(f"{count:,} workers" for count in WORKERS)
    lines = [f"| weights | mixed | epoch | {heads} | knee |", f"|---|---|---|{'---:|' * len(WORKERS)}---:|"]
    for weights in WEIGHTS:
        for name, plan in variants(Plan(weights=weights), FILLED).items():
            for reading, in_memory in READINGS.items():
                found = [epoch(count, plan, costs, place, in_memory=in_memory) for count in WORKERS]
                cells = " | ".join(f"{_seconds(one.total)}, {one.bottleneck}" for one in found)
                best = knee(plan, costs, place, in_memory=in_memory)
                lines.append(f"| {_power(weights)} | {name} | {reading} | {cells} | {best:,} |")
    return lines


def costs_lines(told: Told) -> list[str]:
    """Return the measured costs in some sentences."""
    costs = measured_costs(told)
    fits = next(count for count in range(1, 1 << 20) if kept(count, Plan(), costs, Place()))
    rows = Plan().size / costs.row_bytes
    hours = rows * (costs.parse + costs.learn) / 3600
    return [
        f"- a row has {costs.row_bytes:,.0f} bytes of text, and {costs.kept_bytes:,.0f} in memory;",
        f"- one core parses {1 / costs.parse:,.0f} rows a second, and learns from {1 / costs.learn:,.0f} in memory;",
        f"- a byte of a gain takes {1e9 * costs.byte:.1f} ns beside the network, a task {1e3 * costs.task:.1f} ms;",
        f"- 1 TB is {rows / 1e6:,.0f} million rows: {hours:.1f} hours an epoch for one core, if it reads as fast;",
        f"- they fit into the memory of {fits:,} workers.",
    ]


def _seconds(amount: float) -> str:
    return f"{amount:,.0f} s" if amount >= 10 else f"{amount:.1f} s"


def _power(number: float) -> str:
    return f"10{''.join('⁰¹²³⁴⁵⁶⁷⁸⁹'[int(digit)] for digit in str(len(f'{number:.0f}') - 1))}"


TABLES = {
    "speed": speed_table, "overhead": overhead_table, "accuracy": accuracy_table, "shards": shards_table,
    "costs": costs_lines, "model": model_table,
}  # fmt: skip
"""The tables of the page, by the name that stands above each."""
