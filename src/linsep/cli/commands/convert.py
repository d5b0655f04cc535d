"""`linsep convert`: data to the binary form, a model to other programs' forms."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from linsep.cli.errors import UsageError
from linsep.cli.options.common import reader_options
from linsep.cli.options.outputs import check_targets, interruptible
from linsep.cli.options.readouts import Normalize, Readout, refuse_no_weights, with_readout
from linsep.cli.terminal.text import word

if TYPE_CHECKING:
    from linsep.models.save_load import Saved

EXAMPLES = """
linsep convert train.svm -o train.npz
linsep convert 'train*.svm' -o all.npz
linsep convert model.linsep -o weights.csv
linsep convert model.linsep -o weights.json
"""
DATA, EXPORTS = (".npz",), (".json", ".csv", ".onnx")
"""The suffixes of the files that can be written."""


def run(
    ctx: typer.Context,
    sources: Annotated[
        list[str],
        typer.Argument(
            metavar="DATA... | MODEL", show_default=False, help="Files, patterns in quotes or a folder; or one model."
        ),
    ],
    out: Annotated[
        Path,
        typer.Option(
            "--out", "-o", metavar="FILE",
            help="The file to write. Its suffix decides the format: .npz is data in binary form, which opens at once; "
            ".json and .csv are the weights of a model by name, .onnx is a model for other runtimes.",
        ),
    ],
    readout: Readout = None,
    normalize: Normalize = None,
    float32: Annotated[bool, typer.Option("--float32", help="With .onnx: the input is float32, not float64.")] = False,
) -> None:  # fmt: skip
    """Convert data to binary form, or a model to other forms."""
    if str(out) != "-" and out.suffix not in (*DATA, *EXPORTS):
        raise UsageError(
            f"-o {out}: the file to write ends in {', '.join([*DATA, *EXPORTS])}, which decides the format"
        )
    if out.suffix in EXPORTS:
        if len(sources) > 1:
            raise UsageError(f"-o {out}: {out.suffix} takes one model; got {', '.join(sources)}")
        if float32 and out.suffix != ".onnx":
            raise UsageError(f"--float32 goes with a file that ends in .onnx; got {out}")
        _export(Path(sources[0]), out, readout, normalize, float32)
        return
    if float32:
        raise UsageError("--float32 is for models, which go to a file that ends in .onnx")
    if readout is not None or normalize is not None:
        option = "--normalize" if readout is None else "--readout"
        raise UsageError(f"{option} is for models, which go to other forms")
    _convert(sources, out, reader_options(ctx))


def _is_model(path: Path) -> bool:
    """Return whether a file begins as those that `fit` writes do."""
    if not path.is_file():
        return False
    with path.open("rb") as file:
        return file.read(25)[8:] == b'{"__metadata__":{'


def _convert(given: list[str], target: Path, options: dict[str, Any]) -> None:
    models = [name for name in given if _is_model(Path(name))]
    if models:
        raise UsageError(f"{models[0]} is a model, which goes to a file that ends in {', '.join(EXPORTS)}")
    check_targets({"-o": target}, [], options.get("quarantine"))
    check_targets({}, given, options.get("quarantine"))  # the reader itself compares -o to its sources
    import linsep
    from linsep.cli.terminal.output import size, stdout
    from linsep.cli.terminal.progress import reading_bar

    with interruptible(target, in_place=[options.get("quarantine")]), reading_bar("converting") as tell:
        data = linsep.convert(given, target, progress=tell, **options)
    rejected = f", {data.rejected:,} malformed rows left out" if data.rejected else ""
    rows, features = data.X.shape
    about = f"{rows:,} rows, {features:,} features{rejected}, {size(target.stat().st_size)}"
    stdout().print(f"{word(target)}: {about}", soft_wrap=True)


def _export(source: Path, target: Path, readout: str | None, normalize: bool | None, float32: bool) -> None:
    from linsep.cli.jobs.models import opened_classifier
    from linsep.cli.terminal.output import size, stdout
    from linsep.models.pipelines import learner_of
    from linsep.models.save_load import ModelError

    if source.is_file() and not _is_model(source):
        raise ModelError(source, f"it is no linsep model; data go to a file that ends in {', '.join(DATA)}")
    check_targets({"-o": target}, [source])
    saved = with_readout(opened_classifier(source), readout, normalize)
    if target.suffix != ".onnx" or not learner_of(saved.model)._traits.weights_of_rows:
        refuse_no_weights(saved)
    with interruptible(target):
        _write(saved, target, float32)
    stdout().print(f"{word(target)}: {size(target.stat().st_size)}", soft_wrap=True)


def _write(saved: "Saved", target: Path, float32: bool) -> None:
    if target.suffix == ".onnx":
        from linsep.models.onnx import export_onnx

        if getattr(saved.form, "name", None) == "text":
            raise UsageError(
                f"{target}: the model reads text, and ONNX has no operator that splits words as linsep does: write "
                "the weights to a file that ends in .json, or train on columns of numbers"
            )
        names = getattr(saved.form, "feature_names", None)
        try:
            export_onnx(saved.model, target, dtype="float32" if float32 else "float64", names=names)
        except TypeError as error:
            raise UsageError(f"{target}: {error}") from error
        return
    from linsep.models.contributions import names_of
    from linsep.models.named_weights import export_csv, export_json

    export = export_csv if target.suffix == ".csv" else export_json
    try:
        export(saved.model, target, names_of(saved.model, saved.form))
    except TypeError as error:
        raise UsageError(f"{target}: {error}") from error
