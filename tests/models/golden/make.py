"""Write the golden files of the current format: `python -m tests.models.golden.make`, once for each format."""

import json
import warnings
from pathlib import Path

import linsep
from linsep.models.archive import FORMAT
from tests.contracts.table import bits, build, problem

HERE = Path(__file__).parent


def main():
    warnings.simplefilter("ignore")
    X, y = problem(3, n=12, p=3)
    labels = [["low", "middle", "high"][code] for code in y]
    for name in linsep.LEARNERS:
        clf = build(name).fit(X, labels)
        file = HERE / f"format-{FORMAT}-{name}.linsep"
        linsep.save(clf, file)
        expected = {
            "X": X.tolist(), "y": labels, "classes": clf.classes_.tolist(), "scores": bits(clf.decision_function(X)),
            "coef after one more pass": bits(clf.partial_fit(X, labels).coef_),
        }  # fmt: skip
        file.with_suffix(".json").write_text(json.dumps(expected) + "\n")


if __name__ == "__main__":
    main()
