"""Write the golden files of the current format that are missing: `python -m tests.models.golden.make`.

A file that is there is never written again: it is what an earlier linsep wrote.
"""

import json
import warnings
from pathlib import Path

import numpy as np
from scipy.sparse import csr_array
from sklearn.pipeline import make_pipeline

import linsep
from linsep import LEARNERS, CalibratedClassifier, KernelPerceptron, VotedPerceptron, rules
from linsep.estimators.base.voter import Voter
from linsep.models.archive import FORMAT
from linsep.transforms import Polynomial, Scale
from tests.contracts.table import bits, build, problem
from tests.docs.pages import established

HERE = Path(__file__).parent
ROWS = "2 2:0.5 5:2\n0 3:1\n1 5:0.25 7:-1\n0 2:1 3:-2\n2 7:3\n1 5:1 9:1\n"
"""Text in svmlight form, with columns that no row has."""
WIDE = 5000


def small():
    """A few rows with three labels."""
    X, y = problem(3, n=12, p=3)
    return X, np.array(["low", "middle", "high"])[y]


def of(name):
    """A way to train a learner of the table."""
    return lambda: (build(name).fit(*small()), *small(), None)


def solved(name):
    """A way to train a learner of the table that sees all rows at once; some take counts, or two labels."""

    def made():
        X, y = small()
        X, y = np.abs(X), np.where(y == "high", "high", "low") if LEARNERS[name].small else y
        return LEARNERS[name].make(random_state=0).fit(X, y), X, y, None

    return made


def calibrated():
    """A learner whose scores become probabilities, as labels come."""
    X, y = small()
    return (
        CalibratedClassifier(build("perceptron"), on="progressive", window=20).fit(np.tile(X, (3, 1)), np.tile(y, 3)),
        X,
        y,
        None,
    )


def pipeline():
    """Maps with what they have learned."""
    X, y = small()
    return make_pipeline(Scale(), Polynomial(2), build("averaged-perceptron")).fit(X, y), X, y, None


def data():
    """A model that tells how its data were read, and which columns they had."""
    path = HERE / "rows.svm"
    path.write_text(ROWS)
    rows = linsep.read(path, zero_based=False)
    path.unlink()
    return build("perceptron").fit(rows.X, rows.y), rows.X.toarray(), rows.y, rows


def sparse():
    """Weights that are mostly zero, and averages that shrink."""
    X, y = small()
    wide = np.zeros((len(X), WIDE))
    wide[:, [7, 1500, WIDE - 1]] = X
    return build("pegasos", readout="average").fit(wide, y), wide, y, None


def pairs():
    """Labels that came as they liked, in pairs."""
    X, y = small()
    clf = build("logistic-regression", multi_class="joint", log=True)
    return clf.partial_fit(X[:5], y[:5]).partial_fit(X[5:], y[5:]), X, y, None


def random():
    """A state of the random numbers among the parameters."""
    X, y = small()
    return build("perceptron", shuffle=True, random_state=np.random.RandomState(7)).fit(X, y), X, y, None


def forgetful():
    """A vote of which rows were forgotten, with weights and a label that came late."""
    X, y = small()
    clf = VotedPerceptron(max_support=4, when_full="forget", random_state=0)
    for part in (y != "low", y == "low"):
        clf.partial_fit(csr_array(X[part]), y[part], sample_weight=np.linspace(0.5, 2.0, part.sum()))
    return clf, X, y, None


def kernel():
    """Weights of sparse rows, which shrink, in pairs; answers are drawn at random, and some have been."""
    X, y = small()
    how = {"kernel": "rbf", "fit_intercept": True, "multi_class": "joint", "readout": "random", "random_state": 7}
    clf = KernelPerceptron(rule=rules.Romma(), max_iter=2, **how).fit(csr_array(X), y)
    clf.predict(X[:5])
    return clf, X, y, None


MODELS = {name: of(name) if entry.online else solved(name) for name, entry in established().items()} | {
    "a-pipeline": pipeline, "with-data": data, "sparse": sparse, "open-pairs": pairs, "random-state": random,
    "calibrated": calibrated, "forgetful-vote": forgetful, "kernel-of-pairs": kernel,
}  # fmt: skip
EARLIER = ("located",)
"""Files that no present learner writes: the perceptron that located the worst row of all for each update."""


def main():
    """Write what is missing."""
    warnings.simplefilter("ignore")
    for name, make in MODELS.items():
        file = HERE / f"format-{FORMAT}-{name}.linsep"
        if file.exists():
            continue
        model, X, y, read = make()
        linsep.save(model, file, data=read)
        expected = {
            "X": rows_of(X), "y": y.tolist(), "classes": model.classes_.tolist(),
            "scores": bits(model.decision_function(X)),
        }  # fmt: skip
        if isinstance(model, Voter):
            expected["readouts"] = readouts(model, X)
            expected["readouts after one more pass"] = readouts(model.partial_fit(X, y), X)
        elif hasattr(model, "partial_fit"):
            coef = model.partial_fit(X, y).coef_
            expected["coef after one more pass"] = bits(coef[coef != 0]) if X.shape[1] == WIDE else bits(coef)
        if name == "random-state":
            expected["next random number"] = int(model.random_state.randint(1 << 30))
        file.with_suffix(".json").write_text(json.dumps(expected) + "\n")


def readouts(model, X):
    """What all readouts say, the random one from where it is; by name."""
    scores = model.readings(X).scores
    return {f"{name}, normalised" if normalize else name: bits(of) for (name, normalize), of in scores.items()}


def rows_of(X):
    """Rows for JSON: whole, or the entries of wide ones by column."""
    if X.shape[1] < WIDE:
        return X.tolist()
    return {"columns": X.shape[1], "rows": [{int(j): float(row[j]) for j in np.flatnonzero(row)} for row in X]}


if __name__ == "__main__":
    main()
