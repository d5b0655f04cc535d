"""Options of learners come from the table, those of data reach the reader; both say what is wrong with a value."""

import inspect
import re
from functools import cache

import pytest
import typer
from typer.testing import CliRunner

import linsep
from linsep import distributed
from linsep.cli.app import CommandGroup, app
from linsep.cli.options.command import FORMATS, MAPS, READER, RESERVED, DataCommand, LearnerCommand, TrialsCommand
from linsep.cli.options.common import learner_from, learner_options, reader_options
from linsep.cli.options.learners import COMMON, LEFT_OUT, described, names, option, owners, weights_of
from linsep.data import registry as formats
from linsep.data.parts import Plan
from linsep.data.reading import Reader
from linsep.data.streaming import Stream
from linsep.transforms import MAPS as ALL_MAPS
from tests.cli.files import write_files

SAID = []


def command(kind):
    """Return an app of one command, which keeps what was said."""
    made = typer.Typer(cls=CommandGroup)

    @made.command("try", cls=kind)
    def attempt(ctx: typer.Context, data: list[str]) -> None:
        SAID[:] = [reader_options(ctx), learner_options(ctx) if kind is not DataCommand else None]

    made.callback()(lambda: None)
    return made


def said(kind, *args):
    result = CliRunner().invoke(command(kind), ["try", "a.svm", *args])
    assert result.exit_code == 0, result.output
    return SAID[0] if kind is DataCommand else SAID[1]


def refused(*args, kind=LearnerCommand):
    result = CliRunner().invoke(command(kind), ["try", "a.svm", *args])
    assert result.exit_code == 2
    assert result.stderr.count("\n") == 1
    return result.stderr.removeprefix("linsep try: ").rstrip()


every_learner = pytest.mark.parametrize("learner", linsep.LEARNERS)
OF_FIT = {"time_limit"}
"""Parameters for which `fit` has an option for all learners."""


@cache
def help_of(learner):
    """Return what `fit --learner ... --help` shows."""
    return CliRunner().invoke(app, ["fit", "--learner", learner, "--help"]).stdout


def test_every_parameter_of_every_learner_is_an_option():
    shards = {"shards", "mixing"}
    fixed = dict.fromkeys(("kernel-perceptron", "voted-perceptron", "moving-average"), shards)
    for name, entry in linsep.LEARNERS.items():
        parameters = {*inspect.signature(entry.learner).parameters}
        assert {*described(name)} == parameters - {*LEFT_OUT} - fixed.get(name, set())


def test_a_function_is_not_spoken_of_where_none_can_be_said():
    page = " ".join(help_of("kernel-perceptron").split())
    assert "--kernel linear|poly|precomputed|rbf x.y; (coef0 + gamma x.y)^degree;" in page
    assert "A function" in inspect.getdoc(linsep.KernelPerceptron)
    assert "A function" not in page
    assert "symmetric" not in page


@every_learner
def test_help_for_a_learner_shows_its_options_and_no_others(learner):
    page = help_of(learner)
    for name in set(names()) - OF_FIT:
        flag = option(name)
        shown = re.search(rf"^  (--\[no-\]{flag[2:]}|{flag})\b", page, flags=re.MULTILINE)
        assert bool(shown) == (name in described(learner)), name


def test_help_without_a_learner_shows_the_common_options():
    page = CliRunner().invoke(app, ["fit", "--help"]).stdout
    assert all(f"  {option(name)} " in page for name in COMMON)
    assert "\nLearner; `linsep fit --learner NAME --help` shows all options\n" in page
    assert not any(f"  {option(name)} " in page for name in names() if name not in {*COMMON, *OF_FIT})


@every_learner
def test_a_default_can_be_said_and_the_help_is_the_docstring_s(learner):
    page = " ".join(help_of(learner).split())
    for name, parameter in described(learner).items():
        said = "none" if parameter.default is None else str(parameter.default)
        assert parameter.value(said) == parameter.default, name
        first = re.split(r"[`\"(]|:class:|None|True|False", parameter.text)[0].strip()
        assert name in OF_FIT or first in page, name


@pytest.mark.parametrize(
    ("args", "expected"),
    [
        (["--epochs", "3"], {"max_iter": 3}),
        (["--tol", "none"], {"tol": None}),
        (["--tol", "1e-3"], {"tol": 1e-3}),
        (["--shuffle", "false"], {"shuffle": False}),
        (["--shuffle", "blocks"], {"shuffle": "blocks"}),
        (["--no-fit-intercept"], {"fit_intercept": False}),
        (["--fit-intercept"], {"fit_intercept": True}),
        (["--class-weight", "balanced"], {"class_weight": "balanced"}),
        (["--class-weight", "1=2,0=0.5"], {"class_weight": {1: 2.0, 0: 0.5}}),
        (["--class-weight", '{"spam": 3}'], {"class_weight": {"spam": 3.0}}),
        (["--learner", "winnow", "--x-max", "none", "--eta", "0.25"], {"x_max": None, "eta": 0.25}),
        (["-l", "passive-aggressive", "--C", "10", "--variant", "PA-II"], {"C": 10.0, "variant": "PA-II"}),
        (["-l", "voted-perceptron", "--readout", "last", "--normalize"], {"readout": "last", "normalize": True}),
        (
            ["-l", "voted-perceptron", "--max-support", "9", "--when-full", "forget"],
            {"max_support": 9, "when_full": "forget"},
        ),
        (
            ["-l", "kernel-perceptron", "--kernel", "rbf", "--gamma", "0.5", "--coef0", "-1", "--cache-size", "8"],
            {"kernel": "rbf", "gamma": 0.5, "coef0": -1.0, "cache_size": 8.0},
        ),
        (["--seed", "7"], {"random_state": 7}),
        (["--threads", "2"], {"n_jobs": 2}),
        ([], {}),
    ],
)
def test_what_is_said_of_a_learner(args, expected):
    found = said(LearnerCommand, *args)
    assert found.parameters == {"random_state": 0, **expected}
    learner = learner_from(found.learner, found.parameters)
    assert {name: learner.get_params()[name] for name in expected} == expected


def test_learners_that_are_named():
    assert said(LearnerCommand).learner == "averaged-perceptron"
    assert said(LearnerCommand, "--learner=romma").learner == "romma"
    assert said(TrialsCommand).learners == ()
    assert said(TrialsCommand, "-l", "romma", "--learner", "winnow").learners == ("romma", "winnow")


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (["--learner", "winow"], "did you mean winnow?"),
        (["--learner", "tree"], "there are perceptron, averaged-perceptron"),
        (["--epochs", "0"], "--epochs: '0' is not a whole number of at least 1"),
        (["--epochs", "two"], "--epochs: 'two' is not a whole number"),
        (["--tol", "-1"], "--tol: '-1' is not a number of at least 0 or 'none'"),
        (["--learner", "winnow", "--eta", "0"], "--eta: '0' is not a number above 0 or 'none'"),
        (["--multi-class", "all"], "--multi-class: 'all' is not 'auto', 'joint' or 'ovr'"),
        (["--class-weight", "heavy"], "--class-weight: 'heavy' is not pairs label=weight"),
        (["--class-weight", "=2"], "--class-weight: '=2' is not"),
        (["--epoch", "3"], "--epochs"),
        (["--seed", "-1"], "--seed"),
        (["-O", "text"], "-O text: write it as name=value"),
    ],
)
def test_what_is_wrong_is_said_in_one_line(args, words):
    assert words in refused(*args)


def test_a_parameter_of_other_learners_is_refused_with_their_names():
    with pytest.raises(Exception, match="perceptron has no --eta; it is an option of winnow, balanced-winnow"):
        learner_from("perceptron", {"eta": 1.0})
    voters = ["voted-perceptron", "kernel-perceptron"]
    assert owners("readout") == [*voters, "passive-aggressive", "romma", "logistic-regression", "pegasos"]
    assert owners("normalize") == voters


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a=1", {"a": 1.0}),
        ("1=2,2.5=3", {1: 2.0, 2.5: 3.0}),
        ('"1"=2', {"1": 2.0}),
        ("k=v=2", {"k=v": 2.0}),
        ('{"a": 1, "-1": 2}', {"a": 1.0, -1: 2.0}),
    ],
)
def test_weights_of_labels(text, expected):
    assert weights_of(text) == expected


@pytest.mark.parametrize("text", ["", "a", "a=", "a=b", "{", "[1]", '{"a": "b"}'])
def test_what_is_no_weight_is_refused(text):
    with pytest.raises(ValueError):  # noqa: PT011  (what is said of it is the option's business)
        weights_of(text)


@pytest.mark.parametrize(
    ("args", "expected"),
    [
        ([], {}),
        (
            ["--format", "csv", "--label", "income", "--weight", "w"],
            {"format": "csv", "label": "income", "weight": "w"},
        ),
        (["--label", "-1"], {"label": -1}),
        (["--label", "null"], {"label": None}),
        (["--on-error", "skip"], {"on_error": "skip"}),
        (["--threads", "1"], {"n_jobs": 1}),
        (["-O", "n_features=10", "--option", "text=review"], {"n_features": 10, "text": "review"}),
        (["-O", "ngram_range=[1, 2]", "-O", "keep-names=true"], {"ngram_range": [1, 2], "keep_names": True}),
        (["-O", "delimiter=;"], {"delimiter": ";"}),
    ],
)
def test_what_is_said_of_data(args, expected):
    assert said(DataCommand, *args) == expected


def test_a_quarantine_is_a_policy(tmp_path):
    found = said(DataCommand, "--quarantine", str(tmp_path / "bad"))
    assert found == {"quarantine": tmp_path / "bad", "on_error": "quarantine"}


def test_formats_are_those_of_the_table():
    assert set(FORMATS) == set(formats.FORMATS) - {"table"}
    assert list(MAPS) == list(ALL_MAPS)
    of_forms = {name for form in map(formats.format_class, formats.FORMATS) for name in formats.options_of(form)}
    common = {*formats.COMMON, *formats.STREAMS} - {*RESERVED, "n_jobs"}
    assert list(READER) == sorted(of_forms | common)


def test_what_commands_set_themselves_is_no_option_of_the_reader():
    """A name that a function has for itself would be given twice."""
    readers = (
        linsep.read,
        linsep.stream,
        linsep.convert,
        Reader,
        Stream,
        Plan,
        distributed.fit,
        distributed.predict,
        distributed.evaluate,
    )
    own = {name for function in readers for name in inspect.signature(function).parameters} | {"self"}
    assert set(RESERVED) == own - {*formats.COMMON, *formats.STREAMS, "options"} | {"like", "progress", "once"}
    for name in RESERVED:
        line = f"-O {name}=5: {name} is no option of the reader"
        assert refused("-O", f"{name}=5", kind=DataCommand).startswith(line)


WRONG_OPTIONS = {
    "train.svm": ["n_jobs=foo", "n_jobs=0", "n_jobs=1e9", "quarantine=5", "quarantine=true", "format=[1]", "format=5",
                  "format=false", "on_error=5", "dtype=foo", "dtype=5", "block_bytes=x", "strict=5", "strict=true",
                  "zero_based=2", "zero_based=0", "n_features=x", "n_features=true", "n_features=[1]", "zzz=5", "=5",
                  "label=x"],
    "train.txt": ["ngram_range=5", "ngram_range=[1]", "ngram_range=[1.5, 2]", "ngram_range=ab", "analyzer=5",
                  "norm=true", "idf=5", "binary=x", "lowercase=null", "alternate_sign=[]", "vocabulary=1",
                  "keep_names=no", "n_features=1e6"],
    "train.csv": ["words=true", "words=5.5", "columns={}", "columns=[]", 'columns=[true]', 'ignore={"age": 1}',
                  "label=true", "weight=[1]", "text=5", "delimiter=5", "delimiter=ab", "header=5", "missing=[1]",
                  "categories=5",
                  "ngram_range=5", "text_features=x", "n_features=0"],
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize(("name", "pair"), [(name, pair) for name, pairs in WRONG_OPTIONS.items() for pair in pairs])
def test_an_option_of_the_wrong_kind_is_one_line(name, pair, tmp_path, monkeypatch):
    write_files(tmp_path)
    monkeypatch.chdir(tmp_path)
    label = ["--label", "income"] if name == "train.csv" and not pair.startswith("label") else []
    for args in (
        ["convert", name, "-o", "rows.npz"],
        ["fit", name, "-o", "m.linsep"],
        ["certify", name, "-o", "c.cert"],
    ):
        result = CliRunner().invoke(app, [*args, *label, "-O", pair])
        assert result.exit_code == 2, (args, result.output, result.exception)
        assert result.stderr.count("\n") == 1
        assert pair.partition("=")[0].replace("n_jobs", "--threads") in result.stderr
    assert not [*tmp_path.glob("rows.npz"), *tmp_path.glob("m.linsep"), *tmp_path.glob("c.cert")]


def test_a_quarantine_file_may_be_said_as_an_option(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "rows.svm").write_text("1 1:1\n1 x\n")
    result = CliRunner().invoke(app, ["convert", "rows.svm", "-o", "rows.npz", "-O", "quarantine=bad.svm"])
    assert result.exit_code == 0, result.output
    assert (tmp_path / "bad.svm").read_text() == "1 x\n"


def test_a_vocabulary_is_an_option_of_its_own():
    assert said(DataCommand, "--vocabulary") == {"vocabulary": True}
    assert said(DataCommand, "--no-vocabulary") == {"vocabulary": False}
    assert said(DataCommand) == {}
