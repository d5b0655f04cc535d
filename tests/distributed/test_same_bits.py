"""Threads, workers and a plain reference on the same shards: the same weights, to the last bit among the first two."""

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

import linsep
from linsep import AveragedPerceptron, LogisticRegression, NaiveBayes, Pegasos, Perceptron, Winnow, distributed
from tests import mixing_references as mix
from tests.contracts.test_references import answer, build, reference
from tests.distributed.rows import bits, fit, problem, write
from tests.fits import close, weights

pytestmark = pytest.mark.slow

SHUFFLES = [True, False, "once", "blocks"]


def by_shards(learner, X, y, parts, mixing="uniform", pair=False, c=None):
    """A plain run over shards that are parts of the data; `parts` has the rows of each, in order, epoch by epoch."""
    rows, run = learner.inside(X, 1.0), mix.Mixed()
    state = learner.start(rows.shape[1], rows.dtype)
    look = mix.rivals(y) if pair else mix.against(y)
    state = np.array([state] * (y.max() + 1)) if pair else state
    for epoch in parts:
        began, ends, shares = len(run.counts), [], []
        for part in epoch:
            before = len(run.counts), len(run.mistakes)
            ends.append(mix.walk(learner, state, rows, look, part, began, X.shape[1], run, c))
            made = len(run.counts) - before[0], len(run.mistakes) - before[1]
            shares.append({"uniform": 1, "rows": made[0], "mistakes": made[1]}[mixing])
        shares = shares if any(shares) else [1] * len(ends)
        state = state + sum(s * (end - state) for s, end in zip(shares, ends, strict=True)) / sum(shares)
    run.w = mix.folded(learner, state, X.shape[1])
    return run


def parts_of(learner):
    """The rows of each shard in each epoch, by the sizes that the learner tells and its seed."""
    told, epochs = learner.mixes_, []
    for epoch in range(learner.n_iter_):
        sizes = told.rows[told.epochs == epoch + 1]
        firsts = np.cumsum(sizes) - sizes
        epochs.append(
            [first + order(learner, epoch, k, n) for k, (first, n) in enumerate(zip(firsts, sizes, strict=True))]
        )
    return epochs


def order(learner, epoch, shard, n):
    """The order of a shard's rows, written out."""
    if learner.shuffle is False:
        return np.arange(n)
    epoch = 0 if learner.shuffle == "once" else epoch
    rng = np.random.default_rng([learner.seed_, epoch] + [shard] * (shard > 0))
    if learner.shuffle != "blocks":
        return rng.permutation(n)
    starts, inside = 64 * rng.permutation(-(-n // 64)), rng.permutation(64)
    return np.array([i + j for i in starts for j in inside if i + j < n])


def in_files(folder, X, y):
    """Write rows into files, of which the second has none but a comment."""
    write(folder / "a.svm", X[:70], y[:70])
    (folder / "b.svm").write_text("# nothing here\n\n")
    write(folder / "c.svm", X[70:], y[70:])
    return folder


@pytest.fixture(scope="module")
def rows(tmp_path_factory):
    """Rows of two classes, of whole numbers: sums of them are exact."""
    return in_files(tmp_path_factory.mktemp("rows"), *problem())


@pytest.fixture(scope="module")
def real_rows(tmp_path_factory):
    """Rows of real numbers, for rules that divide: no score is so near to 0 or 1 that its rounding decides."""
    X, y = problem()
    X = X + np.random.default_rng(0).normal(size=X.shape) / 4
    return in_files(tmp_path_factory.mktemp("real"), X, y), X, y


@pytest.mark.parametrize("mixing", ["uniform", "rows", "mistakes"])
@pytest.mark.parametrize("shuffle", SHUFFLES)
@pytest.mark.parametrize("name", ["perceptron", "averaged", "winnow", "PA-I", "Pegasos-averaged", "p-norm", "ROMMA"])
def test_threads_and_the_reference(rows, real_rows, name, shuffle, mixing):
    how = {"shards": 4, "random_state": 5, "shuffle": shuffle, "mixing": mixing}
    path, X, y = real_rows if name.startswith("Pegasos") else (rows, *problem())
    one, two = (fit(build(name, 1.0, **how, n_jobs=jobs), path) for jobs in (1, 3))
    assert bits(one) == bits(two)
    run = by_shards(reference(name, len(X)), X.astype(float), y, parts_of(one), mixing)
    assert one.t_ == len(run.counts)
    assert one.mistakes_ == len(run.mistakes)
    close(weights(one), answer(name, run), 1e-10)


@pytest.mark.parametrize("shuffle", SHUFFLES)
@pytest.mark.parametrize("kind", [AveragedPerceptron, Winnow, Pegasos, LogisticRegression])
def test_workers_and_threads(client, rows, kind, shuffle):
    own = {"x_max": None} if kind is Winnow else {"solver": "sgd"} if kind is LogisticRegression else {}
    how = {"shards": 6, "random_state": 5, "shuffle": shuffle, "mixing": "mistakes", "max_iter": 3, "log": True, **own}
    assert bits(fit(kind(**how), rows, client=client)) == bits(fit(kind(**how), rows))


def test_logistic_regression_goes_row_by_row_by_default(rows):
    how = {"shards": 3, "random_state": 5, "max_iter": None}
    default, said = fit(LogisticRegression(**how), rows), fit(LogisticRegression(**how, solver="sgd"), rows)
    assert bits(default) == bits(said)
    assert default.n_iter_ == 10
    assert fit(LogisticRegression(random_state=5), rows).n_iter_ == 10


@pytest.mark.parametrize("multi_class", ["ovr", "joint"])
def test_many_classes(client, tmp_path, multi_class):
    X, y = problem(classes=3)
    path = write(tmp_path / "rows.svm", X, y)
    how = {
        "shards": 4,
        "random_state": 5,
        "shuffle": False,
        "max_iter": 3,
        "mixing": "mistakes",
        "log": True,
        "intercept_scaling": 1.0,
    }
    learner = fit(Perceptron(**how, multi_class=multi_class), path)
    assert bits(learner) == bits(fit(Perceptron(**how, multi_class=multi_class), path, client=client))
    parts = parts_of(learner)
    if multi_class == "joint":
        found = by_shards(reference("perceptron", len(X)), X.astype(float), y, parts, "mistakes", pair=True).w
    else:
        signs = [np.where(y == k, 1, -1) for k in range(3)]
        found = [by_shards(reference("perceptron", 0), X.astype(float), s, parts, "mistakes").w for s in signs]
    close(weights(learner), np.array(found), 1e-10)


@pytest.mark.parametrize("kind", ["vw", "csv"])
def test_weights_of_rows(client, tmp_path, kind):
    X, y = problem()
    c = np.random.default_rng(1).integers(0, 4, len(y)) / 2
    path, options = tmp_path / f"rows.{kind}", {"n_features": 64}
    if kind == "vw":
        told = [" ".join(f"f{j}:{x}" for j, x in enumerate(row)) for row in X]
        path.write_text("".join(f"{label} {w} | {entry}\n" for label, w, entry in zip(y, c, told, strict=True)))
    else:
        table = np.column_stack([y, c, X])
        np.savetxt(path, table, "%g", ",", header="y,c,a,b,d,e,f,g", comments="")
        options = {"label": "y", "weight": "c"}
    how = {
        "shards": 4,
        "random_state": 5,
        "shuffle": False,
        "max_iter": 3,
        "log": True,
        "mixing": "rows",
        "intercept_scaling": 1.0,
    }
    learner = fit(AveragedPerceptron(**how), path, **options)
    assert bits(learner) == bits(fit(AveragedPerceptron(**how), path, client=client, **options))
    there = np.flatnonzero(c)  # rows without weight are in no round
    parts = [[there[part] for part in epoch] for epoch in parts_of(learner)]
    if kind == "csv":
        run = by_shards(reference("averaged", 0), X.astype(float), y, parts, "rows", c=c)
        assert learner.mistakes_ == len(run.mistakes)
        close(weights(learner), run.average(), 1e-10)


@pytest.mark.parametrize("kind", ["bernoulli", "multinomial", "gaussian"])
def test_naive_bayes_counts_all_rows(client, tmp_path, kind):
    X, y = problem(classes=3)
    X = X if kind == "gaussian" else np.abs(X)
    path = write(tmp_path / "rows.svm", X, y)
    data = linsep.read(path)
    alone = NaiveBayes(kind=kind).fit(data.X, data.y)
    for who in (None, client):
        shared = distributed.fit(NaiveBayes(kind=kind), path, client=who)
        if kind == "gaussian":
            close(shared.predict_proba(data.X), alone.predict_proba(data.X), 1e-12)
        else:
            assert shared.coef_.tobytes() == alone.coef_.tobytes()
            assert shared.intercept_.tobytes() == alone.intercept_.tobytes()


def test_the_number_of_workers_and_what_is_kept_change_no_bit(client, rows, monkeypatch):
    how = {"shards": 5, "random_state": 2, "shuffle": False, "max_iter": 3, "log": True}
    found = bits(fit(AveragedPerceptron(**how), rows, client=client))
    monkeypatch.setattr("linsep.distributed.work.ROW_CACHE.limit", lambda: 0)
    assert bits(fit(AveragedPerceptron(**how), rows)) == found
    monkeypatch.setattr("linsep.distributed.work.STREAMED", 7)
    assert bits(fit(AveragedPerceptron(**how), rows)) == found


def test_more_shards_than_rows(client, tmp_path):
    path = write(tmp_path / "rows.svm", problem()[0][:5], [1, -1, 1, -1, 1])
    how = {"shards": 50, "random_state": 0, "max_iter": 3, "log": True}
    learner = fit(AveragedPerceptron(**how), path)
    assert learner.mixes_.rows.tolist() == [1] * 5 * learner.n_iter_
    assert bits(learner) == bits(fit(AveragedPerceptron(**how), path, client=client))


def test_a_run_that_is_cut_off_by_max_iter_warns(rows, client):
    with pytest.warns(ConvergenceWarning):
        distributed.fit(Perceptron(shards=2, max_iter=1, random_state=0), rows, client=client)
