"""`linsep evaluate`: counted block by block as scikit-learn counts all at once."""

import json
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import (
    average_precision_score,
    brier_score_loss,
    confusion_matrix,
    log_loss,
    precision_recall_fscore_support,
    precision_score,
    recall_score,
    roc_auc_score,
)
from sklearn.pipeline import make_pipeline
from typer.testing import CliRunner

import linsep
from linsep.cli.app import app
from linsep.cli.pages import evaluation as reports
from linsep.evaluation.scoring import SHARES, Margins, Scoring, predictions
from linsep.models.save_load import opened, save
from linsep.transforms import Scale
from linsep.validation.labels import margins_of
from tests.cli.files import let_threads_work, write_model, write_svmlight


def run(*args):
    return CliRunner().invoke(app, ["evaluate", *map(str, args)])


def told(*args):
    result = run(*args, "--json")
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


@given(st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from("abc")), min_size=1), st.integers(1, 5))
def test_blocks_count_as_scikit_learn_does(pairs, size):
    y, labels = (np.array(part) for part in zip(*pairs, strict=True))
    scoring = Scoring(np.array(["a", "b", "c"]))
    for at in range(0, len(y), size):
        scoring.add(y[at : at + size], labels[at : at + size])
    scores = scoring.result()
    assert np.array_equal(scores.confusion.toarray(), confusion_matrix(y, labels, labels=["a", "b", "c"]))
    assert scores.error == pytest.approx(np.mean(y != labels))
    expected = precision_recall_fscore_support(y, labels, labels=["a", "b", "c"], zero_division=np.nan)
    found = [[getattr(part, name) for part in scores.classes] for name in ("precision", "recall", "f1", "rows")]
    assert np.allclose(found, expected, equal_nan=True)
    low, high = scores.interval
    assert 0 <= low <= scores.error <= high <= 1


@pytest.mark.parametrize("classes", [2, 4])
def test_brier_score_and_calibration(classes):
    rng = np.random.default_rng(0)
    p = rng.dirichlet(np.ones(classes), 500)
    y = rng.integers(classes, size=500)
    scoring = Scoring(np.arange(classes))
    for part in np.array_split(np.arange(500), 7):
        scoring.add(y[part], p[part].argmax(axis=1), probabilities=p[part])
    scores = scoring.result()
    expected = brier_score_loss(y, p[:, 1]) if classes == 2 else np.mean(np.sum((p - np.eye(classes)[y]) ** 2, axis=1))
    assert scores.brier == pytest.approx(expected)
    said = p[:, 1] if classes == 2 else p.max(axis=1)
    true = y == (1 if classes == 2 else p.argmax(axis=1))
    for group in scores.calibration:
        inside = (said >= group.low) & ((said < group.high) | (group.high == 1))
        assert group.rows == inside.sum()
        assert group.mean_probability == pytest.approx(said[inside].mean())
        assert group.observed == pytest.approx(true[inside].mean())
    gaps = [group.rows * abs(group.mean_probability - group.observed) for group in scores.calibration]
    assert scores.calibration_error == pytest.approx(sum(gaps) / 500)


@pytest.mark.parametrize("classes", [2, 4])
def test_areas_and_log_loss_are_scikit_learns(classes):
    rng = np.random.default_rng(3)
    p = rng.dirichlet(np.ones(classes), 500)
    p[:20] = np.eye(classes)[0]  # some are certain, and wrong
    y = rng.integers(classes, size=500)
    parts = np.array_split(np.arange(500), 7)
    scorings = [Scoring(np.arange(classes)) for _ in parts]
    for scoring, part in zip(scorings, parts, strict=True):
        scoring.add(y[part], p[part].argmax(axis=1), probabilities=p[part])
    for later in scorings[1:]:
        scorings[0].plus(later)
    scores = scorings[0].result()
    assert scores.log_loss == pytest.approx(log_loss(y, p))
    if classes == 2:
        assert scores.roc_auc == pytest.approx(roc_auc_score(y, p[:, 1]))
        assert scores.average_precision == pytest.approx(average_precision_score(y, p[:, 1]))
    else:
        assert scores.roc_auc == pytest.approx(roc_auc_score(y, p, multi_class="ovr"))
        assert scores.average_precision == pytest.approx(average_precision_score(np.eye(classes)[y], p))
        assert scores.ranking is None


def test_a_class_without_rows_is_left_out_of_the_mean():
    scores = np.array([[3.0, 1, 0], [0, 2, 0], [1, 2, 0]])
    found = Scoring([0, 1, 2]).add([0, 1, 0], scores.argmax(axis=1), scores).result()
    assert found.roc_auc == pytest.approx(
        (roc_auc_score([1, 0, 1], [3, 0, 1]) + roc_auc_score([0, 1, 0], [1, 2, 2])) / 2
    )


def test_calibrated_probabilities_rank_the_rows():
    scores, p, y = np.array([1.0, 2, 3, 4]), np.array([0.2, 0.2, 0.1, 0.9]), np.array([1, 0, 0, 1])
    scoring = Scoring([0, 1], calibrated=True).add(y, y, scores, np.column_stack([1 - p, p]))
    assert scoring.result().roc_auc == roc_auc_score(y, p) != roc_auc_score(y, scores)
    scoring = Scoring([0, 1]).add(y, y, scores, np.column_stack([1 - p, p]))
    assert scoring.result().roc_auc == roc_auc_score(y, scores)


@pytest.mark.parametrize("of", ["probability", "score"])
def test_a_threshold_counts_what_it_finds(of):
    rng = np.random.default_rng(4)
    y, score = rng.integers(2, size=300), np.round(rng.normal(size=300), 1)
    p = None if of == "score" else np.column_stack([1 - np.round(rng.random(300), 1), np.round(rng.random(300), 1)])
    given = score if p is None else p[:, 1]
    scoring = Scoring([0, 1], threshold=0.4)
    for part in np.array_split(np.arange(300), 4):
        scoring.plus(Scoring([0, 1], threshold=0.4).add(y[part], y[part], score[part], None if p is None else p[part]))
    at = scoring.result().threshold
    assert (at.threshold, at.of) == (0.4, of)
    assert at.precision == precision_score(y, given >= 0.4)
    assert at.recall == recall_score(y, given >= 0.4)
    assert sum(at[2:]) == 300
    none = Scoring([0, 1], threshold=1e9).add(y, y, score).result().threshold
    assert np.isnan(none.precision)
    assert none.recall == 0


def test_a_threshold_of_three_classes_is_refused(folder):
    result = run("model.linsep", "test.svm", "--threshold", "0.5")
    assert result.exit_code == 2
    assert "--threshold divides two classes, and the model has 3: remove --threshold" in result.stderr
    with pytest.raises(ValueError, match=r"threshold=0\.5 divides two classes, and the model has 3"):
        Scoring([0, 1, 2], threshold=0.5)


@pytest.mark.slow
@pytest.mark.parametrize("learner", [linsep.LogisticRegression(random_state=0), linsep.Perceptron(random_state=0)])
def test_the_command_states_areas_and_the_threshold(folder, monkeypatch, learner):
    model = write_model(folder / "mail.linsep", "train.txt", learner, vocabulary=True)
    data = linsep.read("test.txt", like=opened("mail.linsep"))
    found = told("mail.linsep", "test.txt", "--threshold", "0.7")
    score, y = model.decision_function(data.X), data.y == model.classes_[1]
    assert found["roc_auc"] == pytest.approx(roc_auc_score(y, score))
    assert found["average_precision"] == pytest.approx(average_precision_score(y, score))
    with_probabilities = hasattr(model, "predict_proba")
    if with_probabilities:
        score = model.predict_proba(data.X)[:, 1]
        assert found["log_loss"] == pytest.approx(log_loss(y, score))
    at = found["threshold"]
    assert (at["of"] == "probability") is with_probabilities
    assert at["precision"] == pytest.approx(precision_score(y, score >= 0.7))
    assert at["recall"] == pytest.approx(recall_score(y, score >= 0.7))
    assert f"{at['of']} of class spam at least 0.7" in " ".join(
        run("mail.linsep", "test.txt", "--threshold", 0.7).stdout.split()
    )
    let_threads_work(monkeypatch)
    shared = told("mail.linsep", "test.txt", "--threshold", "0.7", "--workers", "2")
    for name in ("rows", "error", "roc_auc", "average_precision", "threshold", "margins"):
        assert shared[name] == found[name]
    assert shared["log_loss"] == (pytest.approx(found["log_loss"]) if with_probabilities else None)
    assert run("mail.linsep", "test.txt", "--threshold", "0.7", "--report", "page.html").exit_code == 0
    page = (folder / "page.html").read_text()
    assert "ROC curve" in page
    assert "--threshold 0.7" in page


def test_margins_are_quantiles_of_all_rows():
    rng = np.random.default_rng(1)
    values, margins = rng.normal(size=999), Margins()
    for part in np.array_split(values, 10):
        margins.add(part)
    assert np.allclose(list(margins.quantiles().values()), np.quantile(values, SHARES))


@given(st.lists(st.integers(0, 50), max_size=60))
def test_of_many_margins_every_kth_is_kept(sizes):
    margins, ends = Margins(most=64), np.cumsum([0, *sizes])
    for begin, end in pairwise(ends):
        margins.add(np.arange(begin, end, dtype=float))
    kept = np.concatenate(margins.kept) if margins.kept else np.zeros(0)
    assert len(kept) <= 64
    assert kept.tolist() == list(range(0, ends[-1], margins.step))
    if ends[-1]:
        assert (margins.quantiles()[0], margins.quantiles()[1]) == (0, ends[-1] - 1)


def test_the_margin_of_two_classes_is_that_of_two_columns():
    scores = np.array([0.5, -2.0, 3.0])
    codes = np.array([1, 1, 0])
    assert np.allclose(2 * margins_of(codes, scores), margins_of(codes, np.column_stack([-scores, scores])))


def test_labels_that_the_model_does_not_know_are_wrong_answers():
    scores = Scoring([0, 1]).add([0, 1, 7, 9], [0, 1, 1, 0], np.array([-1.0, 1, 1, -1])).add([7], [1]).result()
    assert (scores.rows, scores.wrong) == (5, 3)
    assert [(part.label, part.rows, part.predicted) for part in scores.classes][2:] == [(7, 2, 0), (9, 1, 0)]
    assert scores.confusion.toarray()[2].tolist() == [0, 2, 0, 0]


def test_rows_without_a_label_count_for_nothing():
    scores = Scoring([0, 1]).add([0.0, np.nan, 1.0], [0, 1, 0], probabilities=np.full((3, 2), 0.5)).result()
    assert (scores.rows, scores.wrong, scores.unlabelled, scores.brier) == (2, 1, 1, 0.25)


def test_labels_of_another_type_are_refused():
    with pytest.raises(ValueError, match=r"the labels are like 'a', but the model's are 0, 1"):
        Scoring([0, 1]).add(["a"], [0])
    with pytest.raises(ValueError, match=r"the labels 5, 6, 7, 8, \.\.\. are none of the model's, 0, 1"):
        Scoring([0, 1]).add(np.arange(5, 3000), np.zeros(2995, int))


def test_the_command_tells_what_the_model_answers(folder):
    model, test = linsep.load("model.linsep"), linsep.read("test.svm")
    found = told("model.linsep", "test.svm")
    assert found["rows"] == len(test)
    assert found["error"] == pytest.approx(1 - model.score(test.X, test.y))
    assert [part["label"] for part in found["classes"]] == [0, 1, 2]
    assert sum(cell["rows"] for cell in found["confusion"]) == len(test)
    assert set(found["margins"]) == {f"{share:g}" for share in SHARES}
    assert found["brier"] is None


def test_many_blocks_and_files_are_one(folder):
    write_svmlight(folder / "large.svm", 25_000, seed=5)
    parts = (folder / "large.svm").read_text().splitlines(keepends=True)
    (folder / "part-1.svm").write_text("".join(parts[:9000]))
    (folder / "part-2.svm").write_text("".join(parts[9000:]))
    one, two = told("model.linsep", "large.svm"), told("model.linsep", "part-*.svm")
    assert one["rows"] == 25_000
    assert {**one, "seconds": 0} == {**two, "seconds": 0}


def test_probabilities_are_judged_where_there_are_any(folder):
    write_model(folder / "mail.linsep", "train.txt", linsep.LogisticRegression(random_state=0), vocabulary=True)
    result = run("mail.linsep", "test.txt")
    assert "Brier" in result.stdout
    assert "observed" in result.stdout
    assert told("mail.linsep", "test.txt")["brier"] < 0.25


def test_a_pipeline_is_judged_too(folder):
    data = linsep.read("train.svm")
    save(make_pipeline(Scale(), linsep.Perceptron(random_state=0)).fit(data.X, data.y), "scaled.linsep", data=data)
    assert told("scaled.linsep", "test.svm")["rows"] == 40


def test_a_model_without_a_form_reads_as_the_options_say(folder):
    data = linsep.read("train.svm")
    save(linsep.Perceptron(random_state=0).fit(data.X, data.y), "bare.linsep")
    (folder / "narrow.svm").write_text("1 1:1\n2 3:1\n")
    assert told("bare.linsep", "narrow.svm")["rows"] == 2


def test_malformed_and_unseen_are_told(folder):
    (folder / "odd.svm").write_text("1 1:1 900:1\n0 x\n2 5:1\n")
    result = run("model.linsep", "odd.svm", "--on-error", "skip")
    assert "malformed  1 rows left out" in result.stdout
    assert "unseen     1 entries" in result.stdout


def test_one_line_if_quiet(folder):
    result = run("model.linsep", "test.svm", "--brief")
    assert result.stdout.startswith("error ")
    assert result.stdout.count("\n") == 1


def test_no_rows_are_bad_data(folder):
    (folder / "empty.svm").write_text("")
    result = run("model.linsep", "empty.svm")
    assert result.exit_code == 3
    assert "empty.svm: there are no rows" in result.stderr


@pytest.mark.parametrize("columns", ["60", "80", "140"])
def test_lines_fit_the_terminal(folder, monkeypatch, columns):
    monkeypatch.setenv("COLUMNS", columns)
    out = run("model.linsep", "test.svm").stdout
    assert max(map(len, out.splitlines())) <= int(columns)
    assert "…" not in out


def test_many_classes_are_told_by_their_worst_confusions(folder):
    rng = np.random.default_rng(0)
    rows = [f"{rng.integers(60)} {j + 1}:1" for j in rng.integers(100, size=3000)]
    (folder / "many.svm").write_text("\n".join(rows) + "\n")
    write_model(folder / "many.linsep", "many.svm")
    out = run("many.linsep", "many.svm").stdout
    assert "the most frequent of" in out
    assert "and 20 more classes" in out


def test_the_report_shows_the_most_wrong(folder):
    result = run("model.linsep", "test.svm", "--report", "page.html")
    assert result.exit_code == 0, result.output
    page = (folder / "page.html").read_text()
    assert "Largest errors" in page
    assert "<svg" in page
    assert "http://" not in page.replace("http://www.w3.org", "")


def test_what_a_report_gathers_is_bounded_and_right(folder, monkeypatch):
    monkeypatch.setattr(reports, "SAMPLE", 50)
    write_svmlight(folder / "large.svm", 3000, seed=5)
    saved = opened("model.linsep")
    gathered, margins = reports.Evaluation(saved), []
    for block in linsep.stream("large.svm", like=saved, block_rows=700):
        found = predictions(saved.model, block.X)
        gathered.add(block, found)
        margins.append(margins_of(block.y, found.scores))
    every = np.concatenate(margins)
    assert 20 < len(gathered.all_drawn().y) <= 50
    assert [row.margin for row in gathered.worst] == sorted(every)[:10]
    assert [every[row.number] for row in gathered.worst] == [row.margin for row in gathered.worst]


def test_what_is_said_again_of_the_data_may_be_said_and_nothing_else(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.csv").write_text("x,kind,other\n1,a,1\n2,b,0\n3,a,1\n4,b,0\n")
    runner = CliRunner()
    assert runner.invoke(app, ["fit", "a.csv", "--label", "kind", "-o", "m.linsep", "--brief"]).exit_code == 0
    assert runner.invoke(app, ["evaluate", "m.linsep", "a.csv", "--label", "kind"]).exit_code == 0
    result = runner.invoke(app, ["evaluate", "m.linsep", "a.csv", "--label", "other"])
    assert result.exit_code == 2
    assert "the model was trained with --label kind: omit --label other" in result.stderr
    result = runner.invoke(app, ["evaluate", "m.linsep", "a.csv", "-O", "header=false"])
    assert "the model was trained without -O header: omit -O header=false" in result.stderr
    (tmp_path / "b.csv").write_text("z,kind\n1,a\n")
    result = runner.invoke(app, ["evaluate", "m.linsep", "b.csv"])
    assert "there is no column 'x', which the training data have" in result.stderr
