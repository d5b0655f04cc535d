"""Model files whose checksums are right and whose content is not, and a check of what they do.

`forgeries` changes the files of small models at random: values of the description, arrays, and documents within arrays.
`verdict` loads such a file in a process of its own with a limit on memory and on time, uses the model, and returns what
happened.
"""

import io
import json
import math
import os
import random
import resource
import signal
import sys
import tempfile
import time
import traceback
import warnings
from contextlib import suppress
from pathlib import Path

import numpy as np
from rich.console import Console
from scipy.sparse import csr_array
from sklearn.pipeline import make_pipeline

import linsep
from linsep import ModelError, load, save
from linsep.cli.commands.inspect import describe, show
from linsep.cli.jobs.models import strongest
from linsep.estimators.base.voter import Voter
from linsep.models import archive
from linsep.models.contributions import names_of
from linsep.models.save_load import opened
from linsep.transforms import Bias, DeltaTrick, Polynomial, Scale, ScaleColumns
from tests.contracts.table import build, problem

GOLDEN = Path(__file__).parent / "golden"
ROOM = 1 << 29
"""Bytes of memory that a forged file of some kilobytes may take."""
SECONDS = 20
"""Seconds that a forged file may take; a kernel may have to be compiled."""
NARROW = 10_000
"""Columns of rows that are asked as arrays; wider rows are sparse."""

X, Y = problem(3, n=12, p=3)
TEXTS = ["a rose is a rose", "is it a rose", "it was red", "was it", "red rose", "no it is not"]
DEEP = json.loads("[" * 500 + "]" * 500)
VALUES = [
    None, True, False, -1, 0, 1, 2, 3, 7, 625, 1 << 31, 1 << 62, 1 << 63, 1 << 70, -(1 << 70), 0.5, -1e308, 1e-320, "",
    "x", "inf", "1", "perceptron", "Pegasos", "\x1b[2J", [], {}, [1], {"list": [1]}, {"tuple": ["a", None]},
    {"float": "nan"}, {"float": "inf"}, {"dict": [[0, 2.0]]}, {"array": "model.classes"}, {"dtype": "float32"},
    {"words": "model.classes", "width": 1, "shape": [1]}, {"rule": "Perceptron", "numbers": {}}, DEEP,
]  # fmt: skip
SIZES = [100, 1000, 10_000, 1 << 20, 1 << 24, 1 << 28, (1 << 31) - 1, 1 << 32, 1 << 40, 1 << 48]
ARRAYS = {
    "cut": lambda a: a[:-1], "twice": lambda a: np.concatenate([a, a]), "empty": lambda a: a[:0],
    "deeper": lambda a: a[..., None], "backwards": lambda a: a[::-1].copy(), "zeros": np.zeros_like,
    "ones": np.ones_like, "floats": lambda a: a.astype(np.float32), "as floats": lambda a: a.astype(np.float64),
    "ints": lambda a: a.astype(np.int32), "highest": lambda a: np.full_like(a, highest(a)),
    "lowest": lambda a: np.full_like(a, lowest(a)), "nan": lambda a: np.full(a.shape, np.nan),
    "infinite": lambda a: np.full(a.shape, -np.inf), "bools": lambda a: a.astype(bool),
    "nested": lambda a: np.frombuffer(b"[" * 200_000, np.uint8),
}  # fmt: skip


def highest(a):
    return np.finfo(a.dtype).max if a.dtype.kind == "f" else np.iinfo(a.dtype).max


def lowest(a):
    return np.finfo(a.dtype).min if a.dtype.kind == "f" else np.iinfo(a.dtype).min


def forged(path, about, arrays):
    """Write a file whose checksums are right, whatever it holds."""
    archive.write(path, {name: of for name, of in about.items() if name not in ("tensors", "format")}, arrays)
    return path


def leaves(told, way=()):
    """Yield the way to each value of a description, those that hold others included."""
    items = told.items() if isinstance(told, dict) else enumerate(told) if isinstance(told, list) else ()
    for name, value in items:
        yield (*way, name)
        yield from leaves(value, (*way, name))


def at(told, way):
    """Return the value at one place of a description."""
    for name in way:
        told = told[name]
    return told


def changed(about, way, value):
    """Return a description with another value at one place."""
    about = json.loads(json.dumps(about))
    at(about, way[:-1])[way[-1]] = value
    return about


def without(about, way):
    """Return a description without the value at one place."""
    about = json.loads(json.dumps(about))
    del at(about, way[:-1])[way[-1]]
    return about


def pipeline(*maps):
    return lambda: (make_pipeline(*maps, build("perceptron")).fit(X, Y), None)


def of_texts(step):
    return lambda: (make_pipeline(step, build("perceptron")).fit(TEXTS, np.arange(len(TEXTS)) % 2), None)


def learner(make, *rows):
    return lambda: (make().fit(*(rows or (X, Y))), None)


def named():
    """A learner whose features and labels have names."""
    clf = build("perceptron")
    for row, label in (({"a": 1.0, "b": 2.0}, "x"), ({"b": -1.0, "c": 1.0}, "y"), ({"c": 3.0}, "z")):
        clf.learn_one(row, label)
    return clf, None


def of_file(name, text, **options):
    """A learner whose file tells how its data were read."""

    def make():
        with tempfile.TemporaryDirectory() as folder:
            (Path(folder) / name).write_text(text)
            data = linsep.read(Path(folder) / name, **options)
            return build("perceptron").fit(data.X, data.y), data

    return make


WIDE = csr_array((np.ones(3), [1, 70, 9000], [0, 1, 2, 3]), shape=(3, 10_000))
DOCUMENTS = "".join(f"{k % 2}\t{text}\n" for k, text in enumerate(TEXTS))
TABLE = "label,size,colour\n" + "".join(f"{k % 2},{k}.5,{'red' if k % 3 else 'blue'}\n" for k in range(8))
ROWS = "1 2:0.5 5:2\n0 3:1\n1 5:0.25 7:-1\n"
VW = "".join(f"{k % 2 + 1} | a:{k} b c{k}\n" for k in range(6))
HONEST = {
    "polynomial": pipeline(Polynomial((1, 2), include_bias=True)),
    "interactions": pipeline(Polynomial(2, interaction_only=True)),
    "terms": pipeline(Polynomial(terms=["x0", "x1 x2^2", "1"])),
    "bias-scale": pipeline(Bias(), Scale("entry", power_of_two=True)),
    "columns": pipeline(ScaleColumns(), ScaleColumns("std")),
    "delta": pipeline(DeltaTrick()),
    "known-delta": pipeline(DeltaTrick(n_rows=len(X))),
    "hasher": of_texts(linsep.TextHasher(1 << 6, keep_names=True)),
    "weighted-hasher": of_texts(linsep.TextHasher(1 << 13, idf=True)),
    "counter": of_texts(linsep.TextCounter(ngram_range=(1, 2))),
    "weighted-counter": of_texts(linsep.TextCounter(["rose", "it", "is"], idf=True)),
    "named": named,
    "data-svmlight": of_file("rows.svm", ROWS),
    "data-wide": of_file("rows.svm", ROWS, n_features=10_000),
    "data-text": of_file("text.txt", DOCUMENTS, vocabulary=True, idf=True),
    "data-hashed": of_file("text.txt", DOCUMENTS, n_features=64),
    "data-csv": of_file("table.csv", TABLE, label="label"),
    "data-vw": of_file("rows.vw", VW, n_features=64),
    "data-named": of_file("rows.vw", VW, n_features=64, keep_names=True),
    "shards": learner(lambda: linsep.Perceptron(shards=3, max_iter=2, shuffle=False)),
    "isotonic": lambda: (
        linsep.CalibratedClassifier(build("perceptron").fit(X, Y), method="isotonic", on="prefit").fit(X, Y), None,
    ),
    "gaussian": learner(lambda: linsep.NaiveBayes("gaussian")),
    "stream": learner(lambda: linsep.LeastSquares(solver="stream")),
    "newton": learner(lambda: linsep.LogisticRegression(solver="newton", prior_variance=1.0)),
    "sparsified": lambda: (build("perceptron").fit(WIDE, [0, 1, 0]).sparsify(), None),
    "one-class": lambda: (build("perceptron").partial_fit(X[:2], [1, 1]), None),
}  # fmt: skip
"""Honest models that no golden file holds, and the data that they were trained on, if the file tells how to read."""
QUICK = (
    "polynomial", "terms", "bias-scale", "columns", "delta", "hasher", "counter", "data-wide", "format-1-perceptron",
)  # fmt: skip
"""Those that take few compiled kernels."""


def honest(names=None):
    """Return what honest files hold, by name: those of golden files, and of more models."""
    held = {path.stem: archive.read(path) for path in sorted(GOLDEN.glob("*.linsep"))}
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        path = Path(folder) / "model.linsep"
        for name, make in HONEST.items():
            if names is None or name in names:
                model, data = make()
                save(model, path, data=data, about={"note": [1, "two"]})
                held[name] = archive.read(path)
    return {name: of for name, of in held.items() if names is None or name in names}


def documents_in(arrays):
    """Return the arrays that spell a document, by name, with the document."""
    found = {}
    for name, array in arrays.items():
        if array.dtype == np.uint8 and array.ndim == 1:
            with suppress(ValueError, UnicodeDecodeError):
                found[name] = json.loads(array.tobytes())
    return found


def spelled(document):
    return np.frombuffer(json.dumps(document).encode(), np.uint8)


def forgeries(held, draw):
    """Yield forgeries without end: (what was done, description, arrays); `draw` is a random.Random."""
    names = sorted(held)
    while True:
        name = draw.choice(names)
        about, arrays = held[name]
        try:
            with np.errstate(all="ignore"), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                what, about, arrays = draw.choice(WAYS)(about, dict(arrays), held, draw)
        except (IndexError, ValueError, KeyError, TypeError):
            continue
        yield f"{name}: {what}", about, arrays


def ways_of(about):
    return [way for way in leaves(about) if way[0] not in ("tensors", "format")]


def other_value(value, draw):
    """Return another value in place of one: often near it, or of its kind."""
    if type(value) is int and draw.random() < 0.6:
        return draw.choice([value + 1, value - 1, 2 * value, -value, *SIZES])
    if type(value) is float and draw.random() < 0.5:
        return draw.choice([-value, value * 2, value + 1, 0.0, 1e-300, 1e300, int(value)])
    if type(value) is bool and draw.random() < 0.7:
        return not value
    if type(value) is list and value and draw.random() < 0.6:
        return draw.choice([value[:-1], value + value[-1:], value[::-1], value * 2])
    return draw.choice(VALUES)


def _value(about, arrays, held, draw):
    way = draw.choice(ways_of(about))
    new = other_value(at(about, way), draw)
    return f"{way} = {new!r:.60}", changed(about, way, new), arrays


def _swapped(about, arrays, held, draw):
    """Take a value from another place of the same description."""
    way, other = draw.choice(ways_of(about)), draw.choice(ways_of(about))
    return f"{way} = that of {other}", changed(about, way, at(about, other)), arrays


def _taken(about, arrays, held, draw):
    """Take what another file has at the same place, with its arrays where these have none of that name."""
    other, theirs = held[draw.choice(sorted(held))]
    way = draw.choice([way for way in ways_of(about) if len(way) > 1])
    arrays = {**theirs, **arrays} if draw.random() < 0.5 else arrays
    return f"{way} = that of another file", changed(about, way, at(other, way)), arrays


def _missing(about, arrays, held, draw):
    way = draw.choice(ways_of(about))
    return f"without {way}", without(about, way), arrays


def _missing_array(about, arrays, held, draw):
    name = draw.choice(sorted(arrays))
    del arrays[name]
    return f"without the array {name}", about, arrays


def _everywhere(about, arrays, held, draw):
    """Replace a number wherever the description has it, so that it agrees with itself."""
    numbers = [at(about, way) for way in ways_of(about)]
    old = draw.choice([number for number in numbers if type(number) is int and number > 1])
    new = draw.choice([old + 1, old - 1, *SIZES])
    for way in ways_of(about):
        if type(at(about, way)) is int and at(about, way) == old:
            about = changed(about, way, new)
    return f"{old} is {new} everywhere", about, arrays


def _array(about, arrays, held, draw):
    name, how = draw.choice(sorted(arrays)), draw.choice(sorted(ARRAYS))
    arrays[name] = ARRAYS[how](arrays[name])
    return f"{name} {how}", about, arrays


def _entry(about, arrays, held, draw):
    name = draw.choice(sorted(name for name, array in arrays.items() if array.size))
    array = arrays[name].copy()
    kind = np.iinfo(array.dtype) if array.dtype.kind in "iu" else np.finfo(array.dtype)
    new = [0, 1, 2, -1, 5, 29, kind.max, kind.min, kind.max / 2, 1 << 31, 1 << 40]
    new += [np.nan, np.inf, 1e-320, 0.5] if array.dtype.kind == "f" else []
    place = draw.randrange(array.size)
    array.flat[place] = np.array(draw.choice(new)).astype(array.dtype)
    arrays[name] = array
    return f"{name}[{place}] = {array.flat[place]}", about, arrays


def _document(about, arrays, held, draw):
    found = documents_in(arrays)
    name = draw.choice(sorted(found))
    way = draw.choice(list(leaves(found[name])))
    new = other_value(at(found[name], way), draw)
    arrays[name] = spelled(changed(found[name], way, new))
    return f"{name}: {way} = {new!r:.60}", about, arrays


def _sizes(about, arrays, held, draw):
    """Give an array, and all of its kind, another length, as well as the numbers that say so."""
    old = draw.choice([n for array in arrays.values() for n in array.shape if n > 1])
    new = draw.choice([old - 1, old + 1, 2 * old])
    for name, array in arrays.items():
        if old in array.shape:
            axis = array.shape.index(old)
            arrays[name] = np.take(array, np.arange(new) % old, axis)
    for way in ways_of(about):
        if type(at(about, way)) is int and at(about, way) in (old, old - 1):
            about = changed(about, way, at(about, way) + new - old)
    return f"{old} long is {new} long", about, arrays


WAYS = [
    _value, _value, _value, _value, _swapped, _taken, _missing, _missing_array, _everywhere, _array, _array, _entry,
    _entry, _document, _document, _sizes,
]  # fmt: skip


class Misbehaves(Exception):
    """What a model that was loaded must not do."""


def rows_for(model):
    """Return rows, as a model takes them, and labels."""
    steps = getattr(model, "steps", [])
    if steps and isinstance(steps[0][1], (linsep.TextHasher, linsep.TextCounter)):
        return TEXTS, np.resize(model.classes_, len(TEXTS))
    width = model.n_features_in_
    labels = model.classes_[Y % len(model.classes_)]
    if width > NARROW:
        entries = np.ones(2 * len(Y)), np.tile([0, width - 1], len(Y)), np.arange(0, 2 * len(Y) + 1, 2)
        return csr_array(entries, shape=(len(Y), width)), labels
    return np.abs(np.resize(X, (len(Y), width))), labels


def use(path):
    """Load a file and use its model; return whether it was refused, raise where it misbehaves."""
    try:
        model = load(path)
    except ModelError as error:
        if not str(error).isprintable() or len(str(error)) > 500:
            raise Misbehaves(f"its error is not one line: {error!r:.100}") from None
        return "refused"
    rows, labels = rows_for(model)
    if hasattr(rows, "shape") and math.prod(rows.shape) == 0:
        return "used"
    read_like(model)
    refused = _in_words(lambda: _asked(model, rows)) or _in_words(lambda: inspect(path))
    if learner_of(model).n_features_in_ > NARROW:
        return "used"  # training makes weights for all features, which an honest model of that width does too
    learned = load(path)
    for learn in _lessons(learned, rows, labels):
        try:
            learn()
        except ValueError as error:
            refused = refused or f"training: {error}"
    try:
        _asked(learned, rows)
    except ValueError as error:
        return f"used, until it was trained: {error}"
    try:
        save(learned, path)
    except ValueError as error:
        return f"used, but saving: {error}"
    again = load(path)
    if not isinstance(learner_of(again), Voter) and not np.array_equal(_answer(again, rows), _answer(learned, rows)):
        raise Misbehaves("saved and loaded again, it answers otherwise")
    return f"used, but {refused}" if refused else "used"


SAMPLES = {"svmlight": ROWS, "text": DOCUMENTS, "csv": TABLE, "vw": VW}


def read_like(model):
    """Read data as those that a model was trained on, if it tells how, and let it answer."""
    form = getattr(model, "form_", None)
    if form is not None and form.name in SAMPLES:
        with suppress(ValueError):
            data = linsep.read(io.BytesIO(SAMPLES[form.name].encode()), like=model, format=form.name)
            model.predict(data.X)


def inspect(path):
    """Do what `linsep inspect` does."""
    saved = opened(path)
    name, parts = names_of(saved.model, saved.form), strongest(saved.model, 3)
    named = [(part, [name(column) for column in part.columns.tolist()]) for part in parts]
    show(Console(file=io.StringIO()), describe(Path(path), saved), named, saved.about)


def learner_of(model):
    last = model.steps[-1][1] if hasattr(model, "steps") else model
    return getattr(last, "estimator_", last)


def _answer(model, rows):
    return model.predict(rows)


def _asked(model, rows):
    """Ask a model for all rows and for each."""
    if hasattr(model, "set_params") and getattr(learner_of(model), "readout", None) == "random":
        return
    labels = _answer(model, rows)
    scores = model.decision_function(rows)
    if hasattr(model, "predict_proba"):
        with suppress(AttributeError):
            probabilities = model.predict_proba(rows)
            if np.abs(scores).max() < 1e12 and not np.allclose(probabilities.sum(axis=1), 1):
                raise Misbehaves("its probabilities do not add up to 1")
    if not np.isin(labels, model.classes_).all():
        raise Misbehaves("it predicts a label that it does not have")
    if hasattr(model, "predict_one"):
        singly = [model.predict_one(_single(rows, k)) for k in range(len(labels))]
        if not np.array_equal(np.array(singly, labels.dtype), labels):
            raise Misbehaves(f"predict_one says {singly}, predict {labels.tolist()}, scores {scores.tolist()}")
    else:
        singly = [model.predict(rows[k : k + 1])[0] for k in range(len(labels))]
        if not np.array_equal(np.array(singly, labels.dtype), labels):
            raise Misbehaves(f"row by row it says {singly}, predict {labels.tolist()}")


def _in_words(ask):
    """Return what a model says where its numbers are too large to answer, the one reason that it may have."""
    try:
        ask()
    except ValueError as error:
        if "float64" not in str(error):
            raise
        return f"asked: {error}"
    return None


def _single(rows, k):
    """Return one row as predict_one takes it."""
    if not hasattr(rows, "indptr"):
        return rows[k]
    entries = slice(rows.indptr[k], rows.indptr[k + 1])
    return rows.indices[entries], rows.data[entries]


def _lessons(model, rows, labels):
    if hasattr(model, "steps") and hasattr(model.steps[-1][1], "partial_fit"):
        mapped = rows
        for _, step in model.steps[:-1]:
            mapped = mapped if step == "passthrough" else step.transform(mapped)
        yield lambda: model.steps[-1][1].partial_fit(mapped, labels)
    elif hasattr(model, "partial_fit"):
        yield lambda: model.partial_fit(rows, labels)
    if hasattr(model, "learn_one") and not hasattr(rows, "indptr"):
        yield lambda: model.learn_one(rows[0], labels[0])


def verdict(path, room=ROOM, seconds=SECONDS):
    """Return what comes of a file in a process of its own: refused, used, or what went wrong, on one line first."""
    out, into = os.pipe()
    child = os.fork()
    if not child:
        try:
            os.close(out)
            limit = _address_space() + room
            resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
            signal.signal(signal.SIGALRM, signal.SIG_DFL)
            signal.alarm(seconds)
            with warnings.catch_warnings(), np.errstate(all="ignore"):
                warnings.simplefilter("ignore")
                text = use(path)
        except BaseException as error:
            frames = traceback.format_exc()[-1500:] if not isinstance(error, Misbehaves) else ""
            text = f"WRONG {type(error).__name__}: {error!s:.300}\n{frames}"
        os.write(into, text.encode("utf-8", "backslashreplace")[:4000])
        os._exit(0)
    os.close(into)
    with os.fdopen(out, "rb") as file:
        text = file.read().decode()
    status = os.waitpid(child, 0)[1]
    if os.WIFSIGNALED(status):
        name = signal.Signals(os.WTERMSIG(status)).name
        return f"WRONG {'no end in time' if name == 'SIGALRM' else f'killed by {name}'}"
    return text or "WRONG no verdict"


def _address_space():
    return int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()


def hunt(seed, seconds=math.inf, count=math.inf, names=None, report=lambda what, told: None):
    """Try forgeries until the time or the count is over; return how many had which verdict."""
    counts, held, draw = {}, honest(names), random.Random(seed)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "forged.linsep"
        for about, arrays in held.values():  # so that the processes to come find all kernels compiled
            with warnings.catch_warnings(), np.errstate(all="ignore"):
                warnings.simplefilter("ignore")
                assert use(forged(path, about, arrays)).startswith("used")
        begin = time.monotonic()
        for what, about, arrays in forgeries(held, draw):
            if sum(counts.values()) >= count or time.monotonic() - begin > seconds:
                return counts
            try:
                forged(path, about, arrays)
            except (ValueError, TypeError, OSError, RecursionError):
                continue
            told = verdict(path)
            kind = told.split("\n")[0].split(":")[0]
            counts[kind] = counts.get(kind, 0) + 1
            report(what, told)
    return counts


def main(seed, seconds, count=math.inf, names=None):
    """Try forgeries, and print what went wrong; return how many did."""

    def report(what, told):
        if told.startswith("WRONG"):
            print(f"seed {seed}: {what} -> {told}", flush=True)

    counts = hunt(seed, seconds, count, names, report)
    print(", ".join(f"{number} {kind}" for kind, number in sorted(counts.items())))
    return sum(number for kind, number in counts.items() if kind.startswith("WRONG"))


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]), math.inf, int(sys.argv[2]), QUICK) > 0)
