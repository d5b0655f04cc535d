"""Options that choose the readout of a trained model: which of its hypotheses predict."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from linsep.cli.errors import UsageError

if TYPE_CHECKING:
    from linsep.models.save_load import Saved

READOUTS = ("vote", "plurality", "random", "last", "average", "longest")
"""The readouts of voters; a test compares them with the learners, which take long to load."""

Readout = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help=f"The weights that predict: {', '.join(READOUTS)}. For models of voted-perceptron and kernel-perceptron, "
        "which keep them all. Default: the readout chosen at fit.",
    ),
]
Normalize = Annotated[
    bool | None,
    typer.Option(
        "--normalize/--no-normalize",
        show_default=False,
        help="For the same models: divide all weights by their length first.",
    ),
]


def with_readout(saved: "Saved", readout: str | None, normalize: bool | None) -> "Saved":
    """Set the readout of a model by the options."""
    chosen: dict[str, Any] = {"readout": readout, "normalize": normalize}
    chosen = {name: value for name, value in chosen.items() if value is not None}
    if not chosen:
        return saved
    from linsep.cli.jobs.models import name_of
    from linsep.estimators.base.voter import Voter
    from linsep.models.pipelines import is_calibrated, learner_of

    option, learner = f"--{next(iter(chosen))}", learner_of(saved.model)
    if not isinstance(learner, Voter):
        raise UsageError(f"{option}: {name_of(saved.model)} keeps the weights of one readout, which fit chooses")
    if is_calibrated(saved.model):
        raise UsageError(
            f"{option}: the probabilities are those of its {learner.readout}; fit another model for others"
        )
    if readout not in (None, *READOUTS):
        raise UsageError(f"--readout {readout}: there are {', '.join(READOUTS)}")
    learner.set_params(**chosen)
    return saved


def as_options(readout: str | None, normalize: bool | None) -> list[str]:
    """Return the options of the readout, in the words of a command.

    >>> as_options("last", False), as_options(None, None)
    (['--readout', 'last', '--no-normalize'], [])
    """
    words = [] if readout is None else ["--readout", readout]
    return words if normalize is None else [*words, "--normalize" if normalize else "--no-normalize"]


def refuse_no_weights(saved: "Saved") -> None:
    """Refuse a model that does not predict with one weight for each feature."""
    from linsep.cli.jobs.models import name_of
    from linsep.estimators.base.learner import Learner
    from linsep.estimators.base.voter import LINEAR, Voter
    from linsep.models.pipelines import learner_of

    learner: Any = learner_of(saved.model)  # a regression is no Learner
    if isinstance(learner, Learner) and learner._traits.weights_of_rows:
        raise UsageError(
            f"{name_of(learner)}: a kernel's weights are those of rows, and none of features can be written"
        )
    if isinstance(learner, Voter) and learner.readout not in LINEAR:
        raise UsageError(
            f"the {learner.readout} asks all weights of the run: choose one of them, such as --readout average"
        )
