"""`linsep predict`: a line out for each line in, at once if it is a pipe, and equal to what the library answers."""

import bz2
import gzip
import os
import select
import shlex
import signal
import subprocess
import threading
import time
from pathlib import Path

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline
from typer.testing import CliRunner

import linsep
from linsep.cli.app import app
from linsep.cli.jobs.predicting import Output, predict
from linsep.cli.jobs.training import fit_quietly
from linsep.models.save_load import opened, save
from linsep.transforms import Scale
from tests.cli.files import (
    let_threads_work,
    write_files,
    write_mail,
    write_model,
    write_svmlight,
    write_table,
    write_vw,
)
from tests.processes import forked

WRITE = {"svm": write_svmlight, "vw": write_vw, "txt": write_mail, "csv": write_table}
OPTIONS = {"csv": {"label": "income"}}
PATIENCE = 60
"""Seconds after which an answer is not coming."""


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Write rows of each format, and a model of each, once."""
    folder = tmp_path_factory.mktemp("models")
    for kind, write in WRITE.items():
        write(folder / f"train.{kind}", 80, 0)
        write(folder / f"test.{kind}", 30, 1)
        write_model(folder / f"{kind}.linsep", folder / f"train.{kind}", **OPTIONS.get(kind, {}))
    chances = linsep.LogisticRegression(random_state=0)
    write_model(folder / "chances.linsep", folder / "train.svm", chances)
    return folder


@pytest.fixture(autouse=True)
def folder(made, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for path in made.iterdir():
        os.symlink(path, tmp_path / path.name)
    return tmp_path


def run(*args, code=0, **more):
    result = CliRunner().invoke(app, ["predict", *map(str, args)], **more)
    assert result.exit_code == code, result.output
    return result


def lines(*args, **more):
    return run(*args, **more).stdout.splitlines()


def ask(process, question):
    """Write to a process that runs, and return the line that it answers before it is told anything more."""
    process.stdin.write(question)
    process.stdin.flush()
    answer, end = b"", time.monotonic() + PATIENCE
    while not answer.endswith(b"\n"):
        assert select.select([process.stdout], [], [], max(0, end - time.monotonic()))[0], "there is no answer"
        part = os.read(process.stdout.fileno(), 1 << 16)
        assert part, "the process has ended"
        answer += part
    return answer


def started(*args, **more):
    pipe = subprocess.PIPE
    return subprocess.Popen(forked("predict", *args), stdin=pipe, stdout=pipe, stderr=pipe, bufsize=0, **more)


@pytest.mark.parametrize("kind", WRITE)
def test_answers_are_the_librarys(kind):
    model = linsep.load(f"{kind}.linsep")
    rows = linsep.read(f"test.{kind}", like=model)
    assert lines(f"{kind}.linsep", f"test.{kind}") == [str(label) for label in model.predict(rows.X).tolist()]
    assert len(set(lines(f"{kind}.linsep", f"test.{kind}"))) > 1
    scores = model.decision_function(rows.X).reshape(len(rows), -1).tolist()
    assert lines(f"{kind}.linsep", f"test.{kind}", "--scores") == ["\t".join(map(repr, row)) for row in scores]


def test_probabilities():
    model = linsep.load("chances.linsep")
    first, *others = lines("chances.linsep", "test.svm", "--probabilities")
    assert first == "0\t1\t2"
    assert others == lines("chances.linsep", "test.svm", "--probabilities", "--no-header")
    found = np.array([line.split("\t") for line in others], float)
    rows = linsep.read("test.svm", like=model)
    assert np.array_equal(found, model.predict_proba(rows.X))
    assert found.shape == (30, 3)
    np.testing.assert_allclose(found.sum(axis=1), 1, rtol=1e-14)
    assert "has no probabilities" in run("svm.linsep", "test.svm", "--proba", code=2).stderr
    assert "give one of them" in run("chances.linsep", "test.svm", "--proba", "--scores", code=2).stderr


def test_a_header_names_the_columns():
    assert lines("svm.linsep", "test.svm", "--scores", "--header")[0] == "0\t1\t2"
    assert lines("txt.linsep", "test.txt", "--scores", "--header")[0] == "spam"
    assert "add one of these" in run("svm.linsep", "test.svm", "--header", code=2).stderr


def test_a_pipe_has_the_header_with_the_first_answer(folder):
    rows = (folder / "test.svm").read_bytes().splitlines(keepends=True)
    with started("chances.linsep", "-", "--proba") as process:
        answer = ask(process, rows[0])
        while answer.count(b"\n") < 2:
            answer += process.stdout.readline()
        assert answer.startswith(b"0\t1\t2\n")
        assert ask(process, rows[1]).count(b"\t") == 2
        process.stdin.close()


@pytest.mark.parametrize("kind", WRITE)
def test_explanations_are_the_librarys(kind, monkeypatch):
    model = linsep.load(f"{kind}.linsep")
    rows = linsep.read(f"test.{kind}", like=model)
    found = lines(f"{kind}.linsep", f"test.{kind}", "--explain", "2")
    for line, row in zip(found, linsep.explain(model, rows.X, n=2), strict=True):
        label, *parts = line.split("\t")
        assert label == str(row.label)
        assert len(parts) == min(2, len(row.contributions))
        for part, expected in zip(parts, row.contributions, strict=True):
            amount, name = part.split(" ", 1)
            assert amount == f"{expected.amount:+.6g}"
            assert name == expected.name
    let_threads_work(monkeypatch)
    assert lines(f"{kind}.linsep", f"test.{kind}", "--explain", "2", "--workers", "2") == found
    assert "give one of them" in run(f"{kind}.linsep", f"test.{kind}", "--explain", "2", "--scores", code=2).stderr


def test_a_kernel_is_not_explained(folder):
    kernel = linsep.KernelPerceptron(random_state=0)
    write_model(folder / "kernel.linsep", "train.svm", kernel)
    assert "KernelPerceptron has weights of rows" in run("kernel.linsep", "test.svm", "--explain", "2", code=2).stderr


BROKEN = {
    "svm": ("# a comment\n\n{}1 2:x\n \n{}1 1:1 # more\n", [1, 1, 0, 1, 1, 0, 0]),
    "vw": ("\n{}1 no bar\n{}\n", [1, 0, 1, 0, 1]),
    "txt": ("\n{}\n{}no tab, and so no label\n", [1, 0, 1, 0, 0]),
}


@pytest.mark.slow
@pytest.mark.parametrize("kind", BROKEN)
@pytest.mark.parametrize("block_bytes", [1, 50, 1 << 21])
def test_every_line_has_its_line(kind, block_bytes, folder):
    """Blank lines, comments and malformed rows have empty ones, so that `paste` lines up."""
    pattern, empty = BROKEN[kind]
    two = (folder / f"test.{kind}").read_text().splitlines(keepends=True)[:2]
    (folder / f"in.{kind}").write_text(pattern.format(*two))
    (folder / f"two.{kind}").write_text("".join(two))
    found = lines(f"{kind}.linsep", f"in.{kind}", "--on-error", "skip", "-O", f"block_bytes={block_bytes}")
    assert [line == "" for line in found] == [bool(mark) for mark in empty]
    answers = lines(f"{kind}.linsep", f"two.{kind}")
    assert [line for line in found if line][:2] == answers
    by_pipe = lines(f"{kind}.linsep", "--on-error", "skip", input=(folder / f"in.{kind}").read_bytes())
    assert by_pipe == found


@pytest.mark.parametrize("block_bytes", [1, 1 << 21])
def test_rows_of_a_table_have_a_line_each(folder, block_bytes):
    rows = ["0.3,Oslo", "", "x,Rome", '0.6,"O\nslo"', "0.6,Oslo", "0.6,Oslo,1", "0.2,Rome"]
    (folder / "in.csv").write_text("\n".join(["age,city", *rows]) + "\n")
    (folder / "sound.csv").write_text('age,city\n0.3,Oslo\n0.6,"O\nslo"\n0.6,Oslo\n0.2,Rome\n')
    found = lines("csv.linsep", "in.csv", "--on-error", "skip", "-O", f"block_bytes={block_bytes}")
    sound = lines("csv.linsep", "sound.csv")
    assert len(sound) == 4
    assert found == [sound[0], "", sound[1], sound[2], "", sound[3]]


def test_quarantined_rows_are_empty_lines(folder):
    (folder / "in.svm").write_text("0 1:1\n0 x\n0 2:1\n")
    found = lines("svm.linsep", "in.svm", "--quarantine", "bad.svm")
    assert [bool(line) for line in found] == [True, False, True]
    assert (folder / "bad.svm").read_text() == "0 x\n"


def test_a_label_is_one_line(folder):
    data = b'age,label\n1,"two\nlines"\n-1,one\n2,"two\nlines"\n-2,one\n'
    (folder / "in.csv").write_bytes(data)
    write_model(folder / "m.linsep", folder / "in.csv")
    assert lines("m.linsep", "in.csv") == ["two\\nlines", "one"] * 2


def test_labels_of_every_kind(folder):
    X = np.eye(3)
    for labels in (["a", "longer", "ünï"], [-1.0, 0.0, 2.0], [False, True, True], [10, 20, 300]):
        save(quiet_fit_and_return(linsep.Perceptron(random_state=0), X, labels), "m.linsep")
        (folder / "in.svm").write_text("0 1:1\n0 2:1\n0 3:1\n")
        assert lines("m.linsep", "in.svm") == [str(label) for label in labels]


def quiet_fit_and_return(model, X, y):
    fit_quietly(model, X, y)
    return model


def test_a_single_class(folder):
    model = linsep.Perceptron().partial_fit([[1.0, 0.0]], ["only"])
    save(model, "m.linsep")
    (folder / "in.svm").write_text("0 1:1\n\n0 2:1\n")
    assert lines("m.linsep", "in.svm") == ["only", "", "only"]


def test_a_model_saved_without_its_data(folder):
    data = linsep.read("train.svm")
    model = quiet_fit_and_return(linsep.AveragedPerceptron(random_state=0), data.X, data.y)
    save(model, "bare.linsep")
    expected = lines("svm.linsep", "test.svm", "--scores")
    assert lines("bare.linsep", "test.svm", "--scores") == expected
    assert lines("bare.linsep", "--scores", input=(folder / "test.svm").read_bytes()) == expected
    (folder / "wide.svm").write_text("0 1:1\n0 13:1\n")
    assert "line 2, column 3: index 13 is beyond the 12 features" in run("bare.linsep", "wide.svm", code=3).stderr


def test_a_pipeline(folder):
    data = linsep.read("train.svm")
    model = make_pipeline(Scale(), linsep.LogisticRegression(random_state=0)).fit(data.X, data.y)
    save(model, "m.linsep", data=data)
    rows = linsep.read("test.svm", like=data)
    assert lines("m.linsep", "test.svm") == [str(label) for label in model.predict(rows.X)]
    found = [
        [float(word) for word in line.split("\t")] for line in lines("m.linsep", "test.svm", "--proba", "--no-header")
    ]
    assert np.array_equal(found, model.predict_proba(rows.X))


def test_a_model_of_documents_needs_to_know_how_to_read_them(folder):
    documents = make_pipeline(linsep.TextHasher(), linsep.Perceptron(max_iter=100, random_state=0))
    save(documents.fit(["cheap", "noon"], [0, 1]), "m.linsep")
    assert "takes documents" in run("m.linsep", "test.txt", code=2).stderr


def test_rows_without_labels(folder):
    plain = {kind: (folder / f"test.{kind}").read_text().splitlines() for kind in WRITE}
    rows = {
        "svm": ["0 " + line.partition(" ")[2] for line in plain["svm"]],
        "vw": [line[line.index("|") :] for line in plain["vw"]],
        "txt": ["?\t" + line.partition("\t")[2] for line in plain["txt"]],
        "csv": [line.rpartition(",")[0] for line in plain["csv"]],
    }
    for kind, some in rows.items():
        (folder / f"bare.{kind}").write_text("\n".join(some) + "\n")
        expected = lines(f"{kind}.linsep", f"test.{kind}", "--scores")
        assert lines(f"{kind}.linsep", f"bare.{kind}", "--scores") == expected
        assert lines(f"{kind}.linsep", "-", "--scores", input=(folder / f"bare.{kind}").read_bytes()) == expected


def test_features_that_the_model_does_not_know_count_for_nothing(folder):
    more = {"svm": " 99:5", "vw": " unheard", "csv": ",0.5"}
    for kind, extra in more.items():
        rows = [line + extra for line in (folder / f"test.{kind}").read_text().splitlines()]
        (folder / f"more.{kind}").write_text("\n".join(rows).replace("income,0.5", "income,fresh") + "\n")
        expected = lines(f"{kind}.linsep", f"test.{kind}", "--scores")
        assert lines(f"{kind}.linsep", f"more.{kind}", "--scores") == expected
    (folder / "in.txt").write_text("?\tunheard of\n?\n")
    assert len(lines("txt.linsep", "in.txt", "--on-error", "skip")) == 2


def test_files_in_order_and_patterns(folder):
    one, two = (folder / "test.svm").read_text(), (folder / "train.svm").read_text()
    (folder / "part-2.svm").write_text(one.rstrip("\n"))
    (folder / "part-1.svm").write_text(two)
    first, second = lines("svm.linsep", "train.svm"), lines("svm.linsep", "test.svm")
    assert lines("svm.linsep", "train.svm", "test.svm") == first + second
    assert lines("svm.linsep", "part-*.svm") == first + second
    assert lines("svm.linsep", "part-2.svm", "part-1.svm") == second + first
    (folder / "a.csv").write_text("age,city\n0.3,Oslo\n")
    assert lines("csv.linsep", "a.csv", "test.csv") == lines("csv.linsep", "a.csv") + lines("csv.linsep", "test.csv")


def test_threads_change_nothing(folder):
    expected = lines("svm.linsep", "test.svm", "--scores", "--threads", "1", "-O", "block_bytes=100")
    assert lines("svm.linsep", "test.svm", "--scores", "--threads", "3", "-O", "block_bytes=100") == expected
    assert lines("svm.linsep", "test.svm", "--scores") == expected


@pytest.mark.parametrize("pack", [gzip.compress, bz2.compress])
def test_packed_standard_input(folder, pack):
    text = (folder / "test.svm").read_bytes()
    assert lines("svm.linsep", input=pack(text)) == lines("svm.linsep", "test.svm")


def test_tables_in_other_formats(folder):
    from pyarrow import csv, feather, parquet

    table = csv.read_csv("test.csv")
    parquet.write_table(table, "test.parquet")
    feather.write_feather(table, "test.feather", compression="uncompressed")
    expected = lines("csv.linsep", "test.csv", "--scores")
    for name in ("test.parquet", "test.feather"):
        assert lines("csv.linsep", name, "--scores") == expected, name


def test_rows_in_binary_form(folder):
    linsep.convert("test.svm", "test.npz", like=linsep.load("svm.linsep"))
    assert lines("svm.linsep", "test.npz", "--scores") == lines("svm.linsep", "test.svm", "--scores")


def test_answers_in_a_file_are_whole_or_as_before(folder):
    expected = run("svm.linsep", "test.svm").stdout
    assert run("svm.linsep", "test.svm", "-o", "out.txt").stdout == ""
    assert Path("out.txt").read_text() == expected
    (folder / "bad.svm").write_text("0 1:1\n" * 9 + "0 x:1\n")
    result = run("svm.linsep", "bad.svm", "-o", "out.txt", code=3)
    assert result.stderr.startswith("linsep predict: bad.svm, line 10, column 3: ")
    assert Path("out.txt").read_text() == expected
    run("svm.linsep", "bad.svm", "-o", "new.txt", code=3)
    assert not os.path.exists("new.txt")
    assert [name for name in os.listdir() if name.endswith(".tmp")] == []


def test_places_for_answers(folder):
    expected = run("svm.linsep", "test.svm").stdout
    assert run("svm.linsep", "test.svm", "-o", "-").stdout == expected
    assert not os.path.exists("-")
    assert run("svm.linsep", "test.svm", "-o", os.devnull).stdout == ""
    Path("real.txt").write_text("old")
    os.chmod("real.txt", 0o640)
    os.symlink("real.txt", "link.txt")
    run("svm.linsep", "test.svm", "-o", "link.txt")
    assert os.path.islink("link.txt")
    assert Path("real.txt").read_text() == expected
    assert os.stat("real.txt").st_mode & 0o777 == 0o640
    assert "no folder" in run("svm.linsep", "test.svm", "-o", "nowhere/out.txt", code=2).stderr
    assert "is a folder" in run("svm.linsep", "test.svm", "-o", folder, code=2).stderr


def test_neither_the_data_nor_the_model_are_written_over(folder):
    for name, args in {"test.svm": ["test.svm"], "svm.linsep": ["test.svm"]}.items():
        before = Path(name).read_bytes()
        assert "give another name" in run("svm.linsep", *args, "-o", name, code=2).stderr
        assert Path(name).read_bytes() == before


WRONG = {
    "no model": (["no.linsep", "test.svm"], 2, "no.linsep: no such file"),
    "no model file": (["test.svm", "test.svm"], 4, "test.svm"),
    "no data": (["svm.linsep", "no.svm"], 3, "no.svm: no such file"),
    "no match": (["svm.linsep", "no-*.svm"], 3, "no file matches"),
    "another format": (["svm.linsep", "test.csv"], 3, "looks like csv"),
    "a column that is lost": (["csv.linsep", "lost.csv"], 3, "no column 'age'"),
    "malformed": (["svm.linsep", "bad.svm"], 3, "bad.svm, line 3, column 3"),
    "an option that is not": (["svm.linsep", "test.svm", "--sorted"], 2, "no such option"),
    "a policy that is not": (["svm.linsep", "test.svm", "--on-error", "explode"], 2, "on_error='explode'"),
}


@pytest.mark.parametrize("case", WRONG)
def test_what_is_wrong_is_one_line_and_a_code(case, folder):
    (folder / "lost.csv").write_text("years,city\n3,Oslo\n")
    (folder / "bad.svm").write_text("0 1:1\n\n0 x:1\n")
    args, code, words = WRONG[case]
    result = run(*args, code=code)
    assert result.stderr.count("\n") == 1
    assert words.lower() in result.stderr.lower()


@pytest.mark.parametrize("kind", ["svm", "csv"])
@pytest.mark.parametrize("block_bytes", [1, 20, 1 << 21])
def test_answers_before_a_malformed_row_are_written(kind, block_bytes, folder):
    head = ["age,city"] * (kind == "csv")
    sound, bad = {"svm": ("0 1:1", "0 1:x"), "csv": ("0.3,Oslo", "x,Oslo")}[kind]
    (folder / f"in.{kind}").write_text("\n".join([*head, sound, "", sound, bad, sound]) + "\n")
    data = (folder / f"in.{kind}").read_bytes()
    expected = lines(f"{kind}.linsep", input="\n".join([*head, sound, "", sound, ""]))
    assert len(expected) >= 2
    for more in ({"input": data}, {}):
        name = "-" if more else f"in.{kind}"
        result = run(f"{kind}.linsep", name, "-O", f"block_bytes={block_bytes}", code=3, **more)
        assert result.stdout.splitlines() == expected
        assert result.stderr.startswith(f"linsep predict: {name}, line {4 + len(head)}, column")
        assert result.stderr.count("\n") == 1


QUESTIONS = {
    "svm": [b"0 1:1 2:0.5\n", b"\n", b"? nonsense\n", b"0 5:1 6:0.5\n"],
    "vw": [b"|a up x:1\n", b"\n", b"no bar\n", b"|a down\n"],
    "txt": [b"?\tcheap pills\n", b"\n", b"no tab\n", b"?\tlunch at noon\n"],
    "csv": [b"age,city\n0.3,Oslo\n", b"x,Oslo\n", b"0.6,Rome\n"],
}


@pytest.mark.slow
def test_a_running_process_answers_each_line_before_the_next(folder):
    """All formats at once, as each process takes a second to start."""
    running = {kind: started(f"{kind}.linsep", "--on-error", "skip") for kind in QUESTIONS}
    for kind, questions in QUESTIONS.items():
        with running[kind] as process:
            answers = [ask(process, question) for question in questions]
            assert all(answer.count(b"\n") == 1 for answer in answers), kind
            process.stdin.write(questions[-1].rstrip(b"\n"))  # the last line may lack its end
            rest, said = process.communicate(timeout=PATIENCE)
        assert (process.returncode, said) == (0, b"")
        assert rest == answers[-1]
        data = b"".join(questions) + questions[-1]
        assert lines(f"{kind}.linsep", "--on-error", "skip", input=data) == [
            line.decode() for answer in [*answers, rest] for line in answer.splitlines()
        ]


def test_named_pipes_are_answered_as_they_come(folder):
    os.mkfifo("in.pipe")
    os.mkfifo("out.pipe")
    saved = opened("svm.linsep")
    options = {"on_error": "skip"}
    work = threading.Thread(target=predict, args=(saved, ["in.pipe"], Output(), Path("out.pipe"), options))
    work.start()
    with open("in.pipe", "wb", buffering=0) as questions, open("out.pipe", "rb", buffering=0) as answers:
        for text, count in ((b"0 1:1\n", 1), (b"\n0 2:", 1), (b"1\n0 ", 1), (b"x\n", 1), (b"0 3:1", 0)):
            questions.write(text)
            found = b""
            while found.count(b"\n") < count:
                assert select.select([answers], [], [], PATIENCE)[0], "there is no answer"
                found += answers.read(1000)
            assert found.count(b"\n") == count
        questions.close()
        assert answers.read(1000).count(b"\n") == 1
    work.join()


@pytest.mark.slow
def test_much_through_a_pipe_is_the_same_as_from_a_file(folder):
    text = (folder / "train.svm").read_bytes() * 600
    (folder / "much.svm").write_bytes(text)
    run("svm.linsep", "much.svm", "-o", "from-file.txt", "--scores")
    command = forked("predict", "svm.linsep", "--scores")
    done = subprocess.run(command, input=text, capture_output=True, timeout=PATIENCE)
    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout == (folder / "from-file.txt").read_bytes()
    assert done.stdout.count(b"\n") == 80 * 600


@pytest.mark.slow
def test_a_reader_that_leaves_is_no_error(folder):
    (folder / "much.svm").write_bytes((folder / "train.svm").read_bytes() * 20_000)
    with started("svm.linsep", "much.svm") as process:
        assert process.stdout.readline() in (b"0\n", b"1\n", b"2\n")
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait(PATIENCE) == 141


@pytest.mark.slow
def test_an_interruption_leaves_the_old_answers(folder):
    (folder / "out.txt").write_text("old")
    with started("svm.linsep", "-o", "out.txt") as to_file, started("svm.linsep") as to_pipe:
        first = ask(to_pipe, b"0 1:1\n")
        to_file.stdin.write(b"0 1:1\n" * 100)
        end = time.monotonic() + PATIENCE
        while not (drafts := list(folder.glob(".out.txt.*.tmp"))) or not drafts[0].stat().st_size:
            assert time.monotonic() < end, "nothing is written"
            time.sleep(0.01)
        for process in (to_file, to_pipe):
            process.send_signal(signal.SIGINT)
        said = to_file.communicate(timeout=PATIENCE)[1]
        rest, left = to_pipe.communicate(timeout=PATIENCE)
    assert (to_file.returncode, to_pipe.returncode) == (130, 130)
    assert said == b"linsep predict: interrupted; out.txt is as it was before\n"
    assert (first.count(b"\n"), rest) == (1, b"")
    assert left == b"linsep predict: interrupted; the lines so far are written\n"
    assert (folder / "out.txt").read_text() == "old"
    assert list(folder.glob(".*.tmp")) == []


@pytest.mark.slow
def test_without_a_standard_input_or_output(folder):
    quoted = shlex.join(forked("predict"))
    for redirected, words in (("<&-", "there is no standard input"), ("test.svm >&-", "there is no standard output")):
        done = subprocess.run(f"{quoted} svm.linsep {redirected}", shell=True, capture_output=True, timeout=PATIENCE)
        assert done.returncode == 2, done.stderr
        assert words in done.stderr.decode()
        assert done.stderr.count(b"\n") == 1


def test_examples_of_the_help_work(folder, tmp_path_factory, monkeypatch):
    from linsep.cli.commands.predict import EXAMPLES

    place = tmp_path_factory.mktemp("examples")
    write_files(place)
    monkeypatch.chdir(place)
    let_threads_work(monkeypatch)
    for example in EXAMPLES.strip().splitlines():
        before, _, command = example.rpartition("| ")
        text = (place / before.split()[1]).read_bytes() if before else None
        run(*command.split()[2:], input=text)
    assert len((place / "labels.txt").read_text().splitlines()) == 40


@pytest.mark.parametrize("vocabulary", [True, False])
def test_plain_lines_of_text_need_no_label(tmp_path, monkeypatch, vocabulary):
    monkeypatch.chdir(tmp_path)
    write_mail(tmp_path / "train.txt", 40, 0)
    write_model(tmp_path / "m.linsep", "train.txt", vocabulary=vocabulary)
    texts = ["cheap pills win", "lunch at noon", "", "meet for the project"]
    (tmp_path / "plain.txt").write_text("\n".join(texts) + "\n")
    (tmp_path / "labelled.txt").write_text("\n".join(f"?\t{text}" if text else "" for text in texts) + "\n")
    runner = CliRunner()
    plain, labelled = (runner.invoke(app, ["predict", "m.linsep", name]) for name in ("plain.txt", "labelled.txt"))
    assert plain.exit_code == 0, plain.output
    assert plain.stdout.split("\n") == ["spam", "ham", "", "ham", ""]
    assert plain.stdout == labelled.stdout
    redirected = runner.invoke(app, ["predict", "m.linsep"], input=(tmp_path / "plain.txt").read_bytes())
    assert redirected.stdout == plain.stdout
