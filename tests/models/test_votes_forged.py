"""Files of voted and kernel perceptrons whose sums are right and whose content is not: refused, or harmless.

Compiled walks trust what a machine says of the rows that it kept, so that all of it is checked when it is loaded.
"""

import tracemalloc
import warnings
from contextlib import suppress

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array

from linsep import KernelPerceptron, ModelError, VotedPerceptron, load, rules, save
from linsep.estimators.base.voter import VOTER_READOUTS
from linsep.models import archive
from tests.contracts.table import problem, quiet
from tests.models.forger import ARRAYS, VALUES, changed, forged, leaves

X, Y = problem(3, n=30, p=4, noise=0.4)
TWO = np.minimum(Y, 1)
WEIGHTS = np.resize([0.5, 2.0, 1.5], 30)
VOTES = ("model", "machine", "votes")


def squared(A, B):
    return (A @ B.T) ** 2


MODELS = {
    "dense": lambda: VotedPerceptron(multi_class="ovr", random_state=0).fit(X, Y),
    "sparse": lambda: VotedPerceptron(multi_class="joint", random_state=0).partial_fit(csr_array(X), Y),
    "weighted": lambda: VotedPerceptron(random_state=0).partial_fit(X, Y, sample_weight=WEIGHTS),
    "forgetful": lambda: VotedPerceptron(max_support=5, when_full="forget", random_state=0).partial_fit(
        X, Y, sample_weight=WEIGHTS
    ),
    "kernel": lambda: KernelPerceptron(kernel="rbf", fit_intercept=True, random_state=0).fit(csr_array(X), TWO),
    "shrinking": lambda: KernelPerceptron(rule=rules.Romma(), random_state=0).partial_fit(X, Y),
    "matrix": lambda: KernelPerceptron(kernel="precomputed", readout="random", random_state=0).fit(X @ X.T, Y),
    "function": lambda: KernelPerceptron(kernel=squared, random_state=0).fit(X, Y),
}


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """What files of small models hold, by name, and a path to forge one at."""
    path = tmp_path_factory.mktemp("forged") / "model.linsep"
    held = {}
    for name, make in MODELS.items():
        save(quiet(make), path)
        held[name] = archive.read(path)
    return path, held


def refused(path, about, arrays, reason):
    own = "is a function" in reason or "load it with" in reason  # then the file is whole, and load lacks a kernel
    begin = "" if own else "though its checksums match: .*"
    with pytest.raises(ModelError, match=begin + reason) as caught:
        load(forged(path, about, arrays), kernels=[squared])
    assert str(caught.value).isprintable()
    assert len(str(caught.value)) < 400


def with_flag(where, value):
    return lambda a: np.where(np.arange(a.size).reshape(a.shape) == where % a.size, value, a).astype(a.dtype)


def swapped(a):
    return a[[1, 0, *range(2, len(a))]]


FIRST, LAST = with_flag(0, 10**9), with_flag(-1, 10**9)
WRONG_ARRAYS = [
    # the rows that were kept
    ("dense", "support.numbers", lambda a: a[:-1], "support.values is"),
    ("dense", "support.numbers", lambda a: a[[0, 0, *range(2, len(a))]], "not numbers of different rows"),
    ("dense", "support.numbers", lambda a: a - 99, "not numbers of different rows"),
    ("dense", "support.numbers", FIRST, "it kept the row 1000000000, of the 30 that it has seen"),
    ("dense", "support.numbers", lambda a: a.astype(np.int32), "support.numbers is int32"),
    ("dense", "support.numbers", lambda a: a[:, None], "support.numbers is int64"),
    ("dense", "support.values", lambda a: a[:, :-1], "support.values is float64"),
    ("dense", "support.values", lambda a: a.astype(np.int64), "support.values is int64"),
    ("dense", "support.values", with_flag(3, np.nan), "a number that is not finite"),
    ("dense", "support.values", with_flag(3, -np.inf), "a number that is not finite"),
    ("sparse", "support.values", with_flag(3, np.nan), "a number that is not finite"),
    ("sparse", "support.values", lambda a: a[:-1], "support.indices is"),
    ("sparse", "support.indices", with_flag(2, 4), "a feature that does not exist"),
    ("sparse", "support.indices", with_flag(2, -1), "a feature that does not exist"),
    ("sparse", "support.indices", lambda a: a.astype(np.float64), "support.indices is float64"),
    ("sparse", "support.indptr", with_flag(2, 0), "do not follow one another"),
    ("sparse", "support.indptr", FIRST, "do not follow one another"),
    ("sparse", "support.indptr", with_flag(0, -1), "do not follow one another"),
    ("sparse", "support.indptr", LAST, "do not follow one another"),
    ("sparse", "support.indptr", with_flag(3, np.iinfo(np.int64).min), "do not follow one another"),
    ("sparse", "support.indptr", lambda a: a[:-1], "support.indptr is"),
    ("sparse", "support.indptr", lambda a: a.astype(np.uint64), "support.indptr is uint64"),
    ("matrix", "support.numbers", FIRST, "it kept the row 1000000000"),
    ("matrix", "support.values", lambda a: np.repeat(a, 2, axis=1), "support.values is"),
    # the updates
    ("shrinking", "log.numbers", with_flag(0, 30), "a row that was not kept"),
    ("dense", "log.numbers", with_flag(0, 1 << 60), "a row that was not kept"),
    ("dense", "log.numbers", with_flag(1, 500), "rounds that it did not have"),
    ("dense", "log.numbers", with_flag(-2, 10**9), "rounds that it did not have"),
    ("dense", "log.numbers", with_flag(1, 0), "rounds that it did not have"),
    ("dense", "log.numbers", with_flag(2, 3), "a row or a class that does not exist"),
    ("sparse", "log.numbers", with_flag(3, 3), "a row or a class that does not exist"),
    ("sparse", "log.numbers", with_flag(3, -1), "a row or a class that does not exist"),
    ("dense", "log.sizes", with_flag(0, np.nan), "log.sizes has a number that is not finite"),
    ("shrinking", "log.sizes", with_flag(1, np.inf), "log.sizes has a number that is not finite"),
    ("shrinking", "log.sizes", lambda a: a[:, :1], "does not have all hypotheses"),
    ("dense", "log.sizes", lambda a: a[:, :0], "does not have all hypotheses"),
    ("dense", "log.sizes", lambda a: np.repeat(a, 2, axis=1), "does not have all hypotheses"),
    ("dense", "log.scores", with_flag(0, np.nan), "log.scores has a number that is not finite"),
    ("dense", "log.scores", lambda a: a[:-1], "log.scores is"),
    ("dense", "log.scores", lambda a: a.astype(np.float32), "log.scores is float32"),
    # time
    ("weighted", "clock.rounds", swapped, "rounds that it did not have"),
    ("weighted", "clock.rounds", with_flag(-1, 31), "rounds that it did not have"),
    ("weighted", "clock.rounds", with_flag(0, -1), "rounds that it did not have"),
    ("weighted", "clock.rounds", lambda a: a[:0], "clock.times is"),
    ("weighted", "clock.rounds", lambda a: a[:, None], "clock.rounds is"),
    ("weighted", "clock.times", swapped, "its round times decrease"),
    ("weighted", "clock.times", with_flag(0, -1.0), "clock.times has a number below 0"),
    ("weighted", "clock.times", with_flag(2, np.nan), "clock.times has a number that is not finite"),
    ("weighted", "clock.times", with_flag(-1, np.inf), "clock.times has a number that is not finite"),
    ("weighted", "clock.times", lambda a: a.astype(np.float32), "clock.times is float32"),
    ("dense", "clock.times", lambda a: np.ones(3), "clock.times is"),
    # what was forgotten
    ("forgetful", "base", with_flag(0, np.nan), "base has a number that is not finite"),
    ("forgetful", "base", lambda a: a[:-1], "base is"),
    ("forgetful", "base_norms", with_flag(0, np.inf), "base_norms has a number that is not finite"),
    ("forgetful", "base_norms", lambda a: a[:-1], "base_norms is"),
    # weights of rows
    ("kernel", "link.s", lambda a: a[:-1], "link.s is"),
    ("kernel", "link.s", lambda a: np.concatenate([a, a]), "link.s is"),
    ("kernel", "link.s", with_flag(0, np.nan), "not finite"),
    ("shrinking", "link.scale", with_flag(0, np.nan), "not finite"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "of", "change", "reason"), WRONG_ARRAYS)
def test_arrays_that_can_not_be_are_refused(files, name, of, change, reason):
    path, held = files
    about, arrays = held[name]
    refused(path, about, {**arrays, f"model.{of}": change(arrays[f"model.{of}"])}, reason)


def test_arrays_that_are_missing_are_refused(files):
    path, held = files
    for about, arrays in held.values():
        for of in arrays:
            rest = {name: a for name, a in arrays.items() if name != of}
            if ".parameters." not in of:
                refused(path, about, rest, "")


def test_a_clock_knows_when_it_begins_and_all_updates(files):
    path, held = files
    about, arrays = held["forgetful"]
    for place, reason in ((0, "its clock has no beginning"), (1, "its clock lacks rounds of its log")):
        less = {f"model.clock.{of}": np.delete(arrays[f"model.clock.{of}"], place) for of in ("rounds", "times")}
        refused(path, about, {**arrays, **less}, reason)


MACHINE = VOTES[:2]
ADDITIVE, SCALED = ["additive", "last"], ["scaled", "last"]
WRONG_VALUES = [
    ("dense", (*VOTES, "begin"), -1, "it begins after -1 rounds"),
    ("dense", (*VOTES, "begin"), 10**9, "it begins after 1000000000 rounds"),
    ("dense", (*VOTES, "begin"), 0.0, r"it begins after 0\.0 rounds"),
    ("dense", (*VOTES, "begin"), True, "it begins after True rounds"),
    ("dense", (*VOTES, "begin"), 1, "whether it has forgotten rows"),
    ("dense", (*VOTES, "folded"), True, "whether it has forgotten rows"),
    ("dense", (*VOTES, "folded"), None, "whether it has forgotten rows"),
    ("dense", (*MACHINE, "no_log_because"), "it is lost", "whether it has forgotten rows"),
    ("forgetful", (*VOTES, "folded"), False, "whether it has forgotten rows"),
    ("forgetful", (*VOTES, "begin"), 0, "whether it has forgotten rows"),
    ("forgetful", (*VOTES, "begin"), 30, "its clock lacks|its clock has no|rounds that it did not have"),
    ("dense", (*VOTES, "width"), 5, "have 5 features, and not 4"),
    ("dense", (*VOTES, "width"), 1, "have 1 features, and not 4"),
    ("kernel", (*VOTES, "width"), 1, "have 1 features, and not 4"),
    ("kernel", (*VOTES, "width"), 1 << 40, "features, and not 4"),
    ("matrix", (*VOTES, "width"), True, "have True features, and not 1"),
    ("matrix", (*VOTES, "width"), 30, "have 30 features, and not 1"),
    ("dense", (*VOTES, "rows"), "sparse", "support.values is"),
    ("dense", (*VOTES, "rows"), "none", "it has numbers of rows, and keeps none"),
    ("dense", (*VOTES, "rows"), "wide", "there are none of that kind"),
    ("dense", (*VOTES, "rows"), [1], "there are none of that kind"),
    ("sparse", (*VOTES, "rows"), "dense", "support.values is"),
    ("matrix", (*VOTES, "rows"), "sparse", "there are none of that kind"),
    ("dense", (*MACHINE, "bias"), 1e300, "whose square is not finite"),
    ("dense", (*MACHINE, "log_limit"), 0, "does not have all hypotheses"),
    ("dense", (*MACHINE, "logged"), False, "does not have all hypotheses"),
    ("dense", (*MACHINE, "behind"), 3, "of the 3 that it has seen"),
    ("dense", (*MACHINE, "compact"), True, "leaves others of its weights out"),
    ("dense", VOTES, None, "TypeError"),
    ("dense", (*MACHINE, "rule"), {"rule": "Romma", "numbers": {}}, "not of the kind that its rule moves"),
    ("shrinking", (*MACHINE, "kinds"), ADDITIVE, "not of the kind that its rule moves"),
    ("shrinking", (*MACHINE, "link", "dual"), False, "those of rows, or of features"),
    ("kernel", (*VOTES, "kernel", "kind"), "os.system", "there is no kernel 'os.system'"),
    ("kernel", (*VOTES, "kernel", "kind"), "poly", "KeyError"),
    ("kernel", (*VOTES, "kernel", "kind"), [], "TypeError"),
    ("kernel", (*VOTES, "kernel", "kind"), "function", "KeyError"),
    ("kernel", (*VOTES, "kernel", "kind"), "precomputed", "features, and not 1"),
    ("kernel", (*VOTES, "kernel", "gamma"), -1.0, "gamma is"),
    ("kernel", (*VOTES, "kernel", "gamma"), {"float": "nan"}, "gamma is"),
    ("kernel", (*VOTES, "kernel", "gamma"), "1", "gamma is"),
    ("kernel", (*VOTES, "kernel", "gamma"), None, "gamma is"),
    ("kernel", (*VOTES, "kernel", "bias"), 3.0, r"its kernel has the bias 3\.0, and it has 1\.0"),
    ("kernel", (*VOTES, "kernel", "bias"), {"float": "inf"}, "bias is"),
    ("kernel", (*VOTES, "kernel"), None, "TypeError"),
    ("shrinking", (*VOTES, "kernel", "degree"), 0, "degree is 0"),
    ("shrinking", (*VOTES, "kernel", "degree"), 2.0, r"degree is 2\.0"),
    ("shrinking", (*VOTES, "kernel", "coef0"), {"float": "inf"}, "coef0 is inf"),
    ("function", (*VOTES, "kernel", "function"), 3, "a kernel must be a function"),
    ("function", (*VOTES, "kernel", "function"), {"function": "system"}, "its kernel system is a function"),
    ("function", (*VOTES, "kernel", "function"), {"function": ["a"]}, "TypeError"),
    ("function", ("model", "parameters", "kernel"), {"function": "eval"}, r"load it with kernels=\[eval\]"),
    ("function", ("model", "parameters", "max_iter"), {"function": "squared"}, "max_iter"),
    ("dense", ("model", "parameters", "readout"), "loudest", "readout"),
    ("dense", ("model", "facts", "draws_"), -1, "draws_ is not a count"),
    ("dense", ("model", "facts", "draws_"), True, "draws_ is not a count"),
    ("dense", ("model", "facts", "draws_"), 0.5, "draws_ is not a count"),
    ("dense", ("model", "learner"), "kernel-perceptron", ""),
    ("dense", ("model", "learner"), "perceptron", ""),
    ("function", ("model", "learner"), "voted-perceptron", ""),
]  # fmt: skip


@pytest.mark.parametrize(("name", "way", "value", "reason"), WRONG_VALUES)
def test_values_that_can_not_be_are_refused(files, name, way, value, reason):
    path, held = files
    about, arrays = held[name]
    refused(path, changed(about, way, value), arrays, reason)


def test_a_kernel_forgets_nothing(files):
    path, held = files
    about, arrays = held["kernel"]
    told = changed(changed(about, (*VOTES, "folded"), True), (*VOTES, "begin"), 1)
    told = changed(told, (*MACHINE, "no_log_because"), "rows were forgotten")
    columns = arrays["model.link.s"].shape[1]
    more = {"model.base": arrays["model.link.s"], "model.base_norms": np.ones(columns)}
    refused(path, told, {**arrays, **more}, "a kernel has no weights")


def test_weights_of_another_kind_do_not_vote(files):
    """Imaged weights, such as Winnow's, and averages: all of their arrays are there, in their shapes."""
    path, held = files
    about, arrays = held["dense"]
    s = arrays["model.link.s"]
    columns = s.shape[1]
    image = {"image": s, "origin": np.zeros(columns), "debt": np.zeros(columns, np.int64)}
    told = changed(about, (*MACHINE, "kinds"), ["imaged", "last"])
    told = changed(told, (*MACHINE, "link"), {"number": 0.5, "form": 0})
    refused(path, told, {**arrays, **{f"model.link.{of}": a for of, a in image.items()}}, "not of the kind")
    means = {"u": s, "mass": np.zeros(columns), "clock": np.zeros(1)}
    told = changed(about, (*MACHINE, "kinds"), ["additive", "average"])
    refused(path, told, {**arrays, **{f"model.readout.{of}": a for of, a in means.items()}}, "not of the kind")


def test_a_kernel_file_that_claims_much_takes_little_memory(files):
    """Sparse rows of 2⁴⁰ features are none the longer for it: they are loaded, and asked, as they are."""
    path, held = files
    about, arrays = held["kernel"]
    told = changed(changed(about, ("model", "features"), 1 << 40), (*VOTES, "width"), 1 << 40)
    asked = csr_array((np.ones(2), np.array([0, 1 << 20]), [0, 2]), shape=(1, 1 << 40))
    tracemalloc.start()
    load(forged(path, told, arrays)).predict(asked)
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert most < 1 << 22
    about, arrays = held["dense"]
    refused(path, changed(about, ("model", "features"), 1 << 40), arrays, "link.s is")


def use(path):
    """Load, ask for all answers, train and ask again; only refusals in words may come of it."""
    try:
        model = load(path, kernels=[squared])
    except ModelError as error:
        assert str(error).isprintable()  # noqa: PT017
        return False
    asked = X @ X.T if model.n_features_in_ == len(X) else X
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        for ask in (
            *(lambda of=of: model.set_params(readout=of).decision_function(asked) for of in VOTER_READOUTS),
            lambda: model.readings(asked), lambda: model.survival_, lambda: model.support_bytes_,
            lambda: model.partial_fit(asked, model.classes_[np.minimum(Y, len(model.classes_) - 1)]),
            lambda: model.set_params(readout="vote", normalize=True).predict(csr_array(asked)),
            lambda: save(model, path),
        ):  # fmt: skip
            with suppress(ValueError, TypeError):
                ask()
    return True


@pytest.mark.parametrize("name", MODELS)
def test_a_file_that_is_not_forged_is_used(files, name):
    path, held = files
    about, arrays = held[name]
    assert use(forged(path, about, arrays))


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_anything_else_in_a_description_is_refused_or_harmless(files, data):
    path, held = files
    about, arrays = held[data.draw(st.sampled_from(list(MODELS)))]
    ways = [way for way in leaves(about["model"], ("model",)) if "machine" in way or "facts" in way]
    way = data.draw(st.sampled_from(ways))
    use(forged(path, changed(about, way, data.draw(st.sampled_from(VALUES))), arrays))


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_any_other_array_is_refused_or_harmless(files, data):
    path, held = files
    about, arrays = held[data.draw(st.sampled_from(list(MODELS)))]
    name = data.draw(st.sampled_from(list(arrays)))
    with np.errstate(all="ignore"):
        other = ARRAYS[data.draw(st.sampled_from(list(ARRAYS)))](arrays[name])
    use(forged(path, about, {**arrays, name: other}))


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_any_other_number_in_an_array_is_refused_or_harmless(files, data):
    path, held = files
    about, arrays = held[data.draw(st.sampled_from(list(MODELS)))]
    name = data.draw(st.sampled_from([name for name, a in arrays.items() if a.size]))
    other = arrays[name].copy()
    kind = np.iinfo(other.dtype) if other.dtype.kind in "iu" else np.finfo(other.dtype)
    place = data.draw(st.integers(0, other.size - 1))
    other.flat[place] = data.draw(st.sampled_from([0, 1, 2, 5, 29, 31, kind.max, kind.min]))
    use(forged(path, about, {**arrays, name: other}))


def test_a_description_says_no_more_than_it_must(files):
    """What is told of a vote, so that whoever adds to it adds a check."""
    _, held = files
    told = {tuple(sorted(about["model"]["machine"]["votes"])) for about, _ in held.values()}
    assert told == {("begin", "folded", "rows", "width"), ("begin", "digest", "folded", "kernel", "rows", "width")}
