"""What a learner found, or keeps, beside the weights, for people to read."""

from typing import Any

AT_ONCE = "all rows at once"
"""The order in which a solver learns."""
MIXED = {"uniform": "mixed evenly", "rows": "mixed by their rows", "mistakes": "mixed by their mistakes"}
HIDDEN = {"open_labels", "rows", "cause", "draws"}
"""What is for machines, or told in other words."""
READOUT_NAMES = {
    "vote": "vote", "plurality": "vote", "average": "average", "random": "random hypothesis",
    "longest": "longest-lived hypothesis",
}  # fmt: skip
"""What predicts, for readouts of learners that keep the rows of their updates."""
SUPPORT, BYTES = "n_support", "support_bytes"
"""How many rows a voter keeps, and the memory that they take."""


def solver_facts(learner: Any) -> dict[str, Any]:
    """Return what a solver found, as far as it is a number or a sentence, and no parameter's echo; what voters keep."""
    told = {name.strip("_"): getattr(learner, name) for name in learner._facts if name in vars(learner)}
    hidden = HIDDEN | set(learner.get_params(deep=False)) - {"solver"}
    kept = {of: getattr(learner, f"{of}_") for of in (SUPPORT, BYTES) if hasattr(learner, f"{of}_")}
    found = {of: fact for of, fact in told.items() if of not in hidden and isinstance(fact, (bool, int, float, str))}
    return found | kept


def progressive_of(learner: Any, sharded: bool) -> str | None:
    """Return whose predictions the progressive error counts; None if those of what predicts.

    >>> from linsep import AveragedPerceptron, VotedPerceptron
    >>> progressive_of(VotedPerceptron(), False), progressive_of(VotedPerceptron(readout="last"), False)
    ('the last weights, not the vote', None)
    >>> progressive_of(AveragedPerceptron(), True)
    'the last weights of each shard, not the mix'
    """
    if sharded:
        return "the last weights of each shard, not the mix"
    asked = getattr(learner, "readout", "last") if hasattr(learner, "max_support") else "last"
    return None if asked == "last" else f"the last weights, not the {READOUT_NAMES[asked]}"


def facts_in_words(facts: dict[str, Any]) -> dict[str, str]:
    """Return facts as a person reads them.

    >>> facts_in_words({"separable": True, "margin_bound": 0.000123456, "verdict": "not separable"})
    {'separable': 'yes', 'margin bound': '0.000123', 'verdict': 'not separable'}
    >>> facts_in_words({"n_support": 1200, "support_bytes": 96_000})
    {'rows kept': '1,200, which made mistakes; 96 kB'}
    """
    from linsep.cli.terminal.output import size

    told = {name.replace("_", " "): _written(fact) for name, fact in facts.items() if name not in (SUPPORT, BYTES)}
    if SUPPORT in facts:
        told["rows kept"] = f"{facts[SUPPORT]:,}, which made mistakes; {size(facts[BYTES])}"
    return told


def _written(fact: Any) -> str:
    if isinstance(fact, bool):
        return "yes" if fact else "no"
    return fact if isinstance(fact, str) else f"{fact:.3g}"


def shards_of(learner: Any) -> dict[str, Any] | None:
    """Return what was mixed, in how many epochs, and the mistakes weighted by shard; None if nothing was mixed."""
    mixes = getattr(learner, "mixes_", None)
    if mixes is None:
        return None
    return {
        "shards": int(mixes.shards.max()) + 1,
        "mixing": learner.mixing,
        "epochs": len(set(mixes.epochs.tolist())),
        "mixed_mistakes": float(mixes.mixed_mistakes[-1].sum()),
    }
