"""The start of a command: what is not needed is not loaded, and signals end it without a traceback."""

import subprocess
import sys

import pytest

from tests.cli.files import write_model, write_svmlight, write_table

START = "import sys; from linsep.cli.startup import load_scikit_learn; load_scikit_learn(); load_scikit_learn()\n"


def told(code, *args, cwd=None):
    """Return what a lean process prints, in which a warning is an error."""
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", START + code, *args], capture_output=True, text=True, cwd=cwd, timeout=120
    )
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout.split()


@pytest.mark.slow
def test_pandas_is_not_loaded_but_can_be():
    code = """
print("pandas" in sys.modules, "sklearn.utils.validation" in sys.modules)
import pandas
print(pandas.DataFrame({"a": [1, 2]}).shape[0])
import linsep
print(linsep.Perceptron().fit(pandas.DataFrame({"a": [1.0, -1.0]}), [1, 0]).feature_names_in_[0])
"""
    assert told(code) == ["False", "True", "2", "a"]


@pytest.mark.slow
def test_parts_of_scipy_are_loaded_on_first_use():
    code = """
import scipy.stats, scipy.optimize
print("scipy.stats._stats_py" in sys.modules, "scipy.optimize._linprog" in sys.modules)
from threading import Thread
found = []
threads = [Thread(target=lambda: found.append(scipy.stats.mode([3, 3, 1]).mode)) for _ in range(8)]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
print(*found)
from scipy.stats import rankdata
from scipy.special import *
print(rankdata([7, 5])[0], expit(0.0), hasattr(scipy.stats, "nothing"), scipy.stats is sys.modules["scipy.stats"])
"""
    assert told(code) == ["False", "False", *["3"] * 8, "2.0", "0.5", "False", "True"]


@pytest.mark.slow
def test_scikit_learn_and_arrow_do_without(tmp_path):
    code = """
import numpy as np, pyarrow as pa, linsep
from pyarrow import csv, feather, parquet
from sklearn.utils.validation import check_array, check_X_y
from sklearn.utils.multiclass import type_of_target
table = csv.read_csv("in.csv")
parquet.write_table(table, "in.parquet")
feather.write_feather(table, "in.feather", compression="uncompressed")
read = [linsep.read(name, label="income") for name in ("in.csv", "in.parquet", "in.feather")]
print(*(np.array_equal(data.X.toarray(), read[0].X.toarray()) for data in read))
print(*(np.array_equal(data.y, read[0].y) for data in read))
print(type_of_target(read[0].y), check_array([[1, 2]]).shape, linsep.read(table, label="income").X.shape[0])
try:
    check_array([[np.nan]])
except ValueError as error:
    print("NaN" in str(error))
import warnings
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    warnings.warn("careful")
print(len(caught))
"""
    write_table(tmp_path / "in.csv", 20, 0)
    assert told(code, cwd=tmp_path) == ["True"] * 6 + ["binary", "(1,", "2)", "20", "True", "1"]


@pytest.mark.slow
def test_commands_read_tables(tmp_path):
    code = """
from pyarrow import csv, parquet
parquet.write_table(csv.read_csv("in.csv"), "in.parquet")
from linsep.cli import main
sys.argv = ["linsep", "predict", "m.linsep", "in.parquet"]
try:
    main()
except SystemExit as end:
    print(end.code)
"""
    write_table(tmp_path / "in.csv", 20, 0)
    write_model(tmp_path / "m.linsep", tmp_path / "in.csv", label="income")
    *labels, code = told(code, cwd=tmp_path)
    assert set(labels) == {"high", "low"}
    assert (len(labels), code) == (20, "0")


INTERRUPTED_WHILE_LOADING = """
import os, signal, sys
import linsep.cli

class Interrupting:
    def find_spec(self, name, path=None, target=None):
        if name == "typer":
            os.kill(os.getpid(), signal.SIGINT)
            for _ in range(1000):
                pass

sys.meta_path.insert(0, Interrupting())
signal.signal(signal.SIGINT, signal.default_int_handler)
sys.argv = ["linsep", "--version"]
linsep.cli.main()
"""


def test_an_interruption_while_the_program_is_loaded_is_one_line():
    done = subprocess.run(
        [sys.executable, "-c", INTERRUPTED_WHILE_LOADING], capture_output=True, text=True, check=False, timeout=60
    )
    assert (done.returncode, done.stdout) == (130, "")
    assert done.stderr == "linsep: interrupted; nothing was written\n"


TERMINATED_WHILE_WRITING = """
import os, signal, sys
import linsep.cli

def terminated(file):
    os.kill(os.getpid(), signal.SIGTERM)
    for _ in range(1000):
        pass

os.fsync = terminated
sys.argv = ["linsep", "convert", "in.svm", "-o", "out.npz"]
linsep.cli.main()
"""


@pytest.mark.slow
def test_a_terminated_command_leaves_no_drafts(tmp_path):
    write_svmlight(tmp_path / "in.svm", 20, 0)
    (tmp_path / "out.npz").write_bytes(b"before")
    code = TERMINATED_WHILE_WRITING
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=tmp_path, timeout=120)
    assert (done.returncode, done.stderr) == (143, "")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in.svm", "out.npz"]
    assert (tmp_path / "out.npz").read_bytes() == b"before"


INTERRUPTED_AT_THE_END = """
import atexit, os, signal, sys
import linsep.cli

atexit.register(os.kill, os.getpid(), signal.SIGINT)
signal.signal(signal.SIGINT, signal.default_int_handler)
sys.argv = ["linsep", "--version"]
linsep.cli.main()
"""


def test_an_interruption_after_the_end_changes_nothing():
    done = subprocess.run(
        [sys.executable, "-c", INTERRUPTED_AT_THE_END], capture_output=True, text=True, check=False, timeout=60
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("linsep ")


INTERRUPTED_IN_A_STRING = """
import signal
from linsep.cli.errors import report_errors
from linsep.cli.startup import handle_signals

signal.signal(signal.SIGINT, signal.default_int_handler)
handle_signals()
with report_errors(lambda: "linsep fit"):
    exec("import os, signal; os.kill(os.getpid(), signal.SIGINT)")
    print("not interrupted")
"""


def test_an_interruption_of_code_in_a_string_ends_with_the_exit_code(tmp_path):
    (tmp_path / "interrupted.py").write_text(INTERRUPTED_IN_A_STRING)
    command = [sys.executable, "-m", "interrupted"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path, timeout=60)
    assert (done.returncode, done.stdout) == (130, "")
    assert done.stderr == "linsep fit: interrupted; nothing was written\n"
