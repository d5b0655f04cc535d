"""Vowpal Wabbit text: what is read, and what is refused with its place."""

from itertools import pairwise
from random import Random

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import example, given, settings

from linsep.data.compiled.names import hash_of
from linsep.data.compiled.vw import HASHED, NAMED, NUMBERED
from linsep.data.vw import column_of, parse
from tests.data.wall import at_the_wall


def rows_of(text, **options):
    return parse(np.frombuffer(text if isinstance(text, bytes) else text.encode(), np.uint8), **options)


def weights_of(rows):
    """Return the importances, having checked that they are left out where all are 1."""
    weights = [1.0] * len(rows) if rows.weights is None else rows.weights.tolist()
    assert (rows.weights is None) == (set(weights) <= {1.0})
    return weights


def names_of(rows):
    """Return the names of a block as they are spelled."""
    marks = rows.names.marks.tolist()
    return [rows.names.letters[i:k].tobytes().decode() for i, k in pairwise(marks)]


def entries_of(rows):
    """Return the rows as dictionaries, having checked that columns rise."""
    found = []
    for begin, end in zip(rows.indptr, rows.indptr[1:], strict=False):
        columns = rows.indices[begin:end].tolist()
        assert columns == sorted(set(columns))
        found.append(dict(zip(columns, rows.values[begin:end].tolist(), strict=True)))
    return found


WORD_VALUES = ("true", "yes", "in", "n", "é-4", "e1x_longer_than_eight_bytes")


def reference(line, bits, dtype=float):
    """Read one sound line in plain Python: label, importance, entries."""
    before, *parts = line.split("|")
    words = before.split()
    if words and (words[-1][0] == "'" or before[-1] not in " \t"):
        words.pop()
    label, importance = [*map(float, words), *[np.nan, 1.0][len(words) :]][:2]
    row = {}
    for part in parts:
        space, *features = [part[:0], *part.split()] if part[:1] in ("", " ", "\t") else part.split()
        name, scale = [*space.split(":"), "1"][:2]
        seed = (int(name) if name.encode().isdigit() else hash_of(name)) if name else 0
        unnamed = 0
        for feature, value in ([*word.split(":"), "1"][:2] for word in features):
            hash_ = int(feature) + seed if feature.encode().isdigit() else hash_of(feature, seed % 2**32)
            if value in WORD_VALUES:
                hash_ = hash_of(value, (hash_ if feature else seed) % 2**32)
                value = dtype(1)
            else:
                value = dtype(float(dtype(value)) * float(scale))
                if not feature:
                    hash_ = seed + unnamed
                    unnamed += 1
            if value:
                row[hash_ % 2**bits] = dtype(row.get(hash_ % 2**bits, dtype(0)) + value)
    return label, importance, {column: float(value) for column, value in row.items()}


X, Y = column_of("x", "a"), column_of("y", "b")
SAME = {
    "plain": "1 |a x:0.5 |b y\n-1 |a x\n",
    "returns": "1 |a x:0.5 |b y\r\n-1 |a x\r\n",
    "blanks": " 1  |a \t x:0.5\t  |b y  \n\n \t\n\r\n-1 |a x \t\n",
    "tags": "1 'one |a x:0.5 |b y\n-1 two|a x\n",
    "quoted and glued": "1 'one|a x:0.5 |b y\n-1 '|a x\n",
    "importance and base": "1 1 0.25 |a x:0.5 |b y\n-1 1 'tag |a x\n",
    "scales": "1 |a:0.25 x:2 |b:1 y\n-1 |a:.5 x:2\n",
    "bars touch": "1 |a x:0.5|b y\n-1 ||a x|\n",
    "twice in a row": "1 |a x:0.25 |b y:3 y:-2 |a x:0.25\n-1 |a x:-1 x x\n",
    "zeros": "1 |a x:0.5 z:0 |b y\n-1 |a x z:-0.0 |b:0 y:5\n",
    "forms of numbers": "+1 |a x:5e-1 |b y:1.\n-1.0 |a x:+.1e1\n",
}


@pytest.mark.parametrize("case", SAME)
def test_forms_of_the_same_rows(case):
    rows = rows_of(SAME[case])
    assert rows.labels.tolist() == [1, -1]
    assert rows.weights is None
    assert entries_of(rows) == [{X: 0.5, Y: 1}, {X: 1}]
    assert rows.faults == []
    assert rows.lines == SAME[case].count("\n")
    assert rows.places.tolist() == [0, rows.lines - 1]


def test_what_stands_before_the_bar():
    rows = rows_of("|a x\n| x\n 'tag |a x\ntag|a x\n1|a x\n2 3 |a x\n2 0 tag|a x\n4 |\n4 2 'tag  |\n1 2|\n|\n")
    none = np.nan
    np.testing.assert_array_equal(rows.labels, [none, none, none, none, none, 2, 2, 4, 4, 1, none])
    assert weights_of(rows) == [1, 1, 1, 1, 1, 3, 0, 1, 2, 1, 1]
    assert np.diff(rows.indptr).tolist() == [1, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0]
    assert rows.places.tolist() == list(range(11))


COLUMNS = [
    (" 12", 12),
    (" 0012", 12),
    (" word", 185504),
    ("a x", 55432),
    ("a y", 42847),
    ("a 12", 92606),
    ("a word", 6861),
    ("7 12", 19),
    ("007 12", 19),
    ("7 word", 192425),
    (" 12345678901234567890123", 148683),
    (" 1x", 256134),
    (" -1", 140426),
    (" é^²", 6978),
    ("a é", 245264),
    (" a_name_of_more_than_sixteen_bytes", 100099),
    ("a_longer_namespace_too 日本語", 39755),
    ("' x", 258820),
    ("a 'x", 14787),
    (" x.y,z", 239209),
]
"""Columns that Vowpal Wabbit 9.11.9 gives to names with -b 18."""


def test_columns_are_those_of_vowpal_wabbit():
    rows = rows_of("".join(f"1 |{text}\n" for text, _ in COLUMNS))
    assert rows.indices.tolist() == [column for _, column in COLUMNS]
    assert [column_of(*text.split(" ")[::-1]) for text, _ in COLUMNS] == [column for _, column in COLUMNS]


def test_names_of_digits_are_numbers_and_others_murmur_hashes():
    columns = [
        (" 12", 12),
        (" word", hash_of("word")),
        ("a 12", hash_of("a") + 12),
        ("a word", hash_of("word", hash_of("a"))),
        ("7 word", hash_of("word", 7)),
        (f" {'9' * 5000}", 10**5000 - 1),
    ]
    for bits in (1, 8, 18, 31):
        rows = rows_of("".join(f"1 |{text}\n" for text, _ in columns), bits=bits)
        assert rows.indices.tolist() == [column % 2**bits for _, column in columns]


BAD = {
    "label": ("x |a x", 1, "'x' is not a label"),
    "label of two": ("1,2 |a x", 1, "'1,2' is not a label"),
    "label not finite": ("inf |a x", 1, "'inf' is not a label"),
    "endless label": ("1e999 |a x", 1, "'1e999' is not a label"),
    "importance": ("1 x |a x", 3, "'x' is not an importance"),
    "endless importance": ("1 1e999 |a x", 3, "'1e999' is not an importance"),
    "negative importance": ("1 -2 |a x", 3, "importance '-2' is negative"),
    "base": ("1 2 x |a x", 5, "'x' is not a base"),
    "too many words": ("1 2 3 4 |a x", 7, "'4' is one word too many"),
    "after the tag": ("1 'tag 2 |a x", 8, "'2' follows the tag"),
    "no bar": ("1 3:1 4:1", 3, "'3:1' is not followed by a |"),
    "no bar, numbers": ("1 2 3 4", 7, "'4' is not followed by a |"),
    "no bar, a label": ("1", 1, "'1' is not followed by a |"),
    "no bar, a tag": (" 'tag", 2, """"'tag" is not followed by a |"""),
    "a tab in front": ("\t1 |a x", 1, "there is a tab before the first |"),
    "a tab before the bar": ("1\t|a x", 2, "there is a tab before the first |"),
    "a tab after the tag": ("1 'tag\t|a x", 7, "there is a tab before the first |"),
    "long namespace": (f"1 |{'a' * 256} x", 4, f"'{'a' * 60}'... is too long for a namespace"),
    "no namespace": ("1 |:3 x", 4, "':3' has no namespace before the colon"),
    "scale": ("1 |a:x x", 6, "'x' is not a finite number to scale"),
    "no scale": ("1 |a: x", 6, "'' is not a finite number to scale"),
    "endless scale": ("1 |a:1e999 x", 6, "'1e999' is not a finite number to scale"),
    "only a colon": ("1 |a :", 7, "'' is neither a finite number nor a word"),
    "a number and more": ("1 |a x:12b", 8, "'12b' is neither"),
    "a sign": ("1 |a x:-y", 8, "'-y' is neither"),
    "a point": ("1 |a x:.y", 8, "'.y' is neither"),
    "infinity and more": ("1 |a x:Infant", 8, "'Infant' is neither"),
    "no value": ("1 |a x: y", 8, "'' is neither"),
    "value at the end": ("1 |a x:", 8, "'' is neither"),
    "value not finite": ("1 |a x:nan|b", 8, "'nan' is neither"),
    "two values": ("1 |a x:1:2", 8, "'1:2' is neither"),
    "a number after a word": ("1 |a x:y:2", 8, "'y:2' is neither"),
    "NUL in a word": ("1 |a x:y\0", 8, r"'y\x00' is neither"),
    "endless value": ("1 |a x:1e999", 8, "'1e999' is too large"),
    "endless by its scale": ("1 |a:1e200 x:1e200", 14, "'1e200' is too large"),
    "endless by a sum": ("1 |a x:1e308 x:1e308", 16, "'1e308' is too large"),
    "NUL in a name": ("1 |a x\0:1", 6, r"'x\x00:1' has a control byte"),
    "NUL in a namespace": ("1 |a\0 x", 4, r"'a\x00' has a control byte"),
    "NUL in a value": ("1 |a x:1\0", 8, r"'1\x00' is neither"),
    "NUL in a tag": ("1 'a\0b |a x", 3, r""""'a\x00b" has a control byte"""),
    "NUL alone": ("\0", 1, r"'\x00' has a control byte"),
    "a return inside": ("1 |a x\ry", 6, r"'x\ry' has a control byte"),
}


NAMELESS = {
    "| :0.5 x": {0: 0.5, 170779: 1.0},
    "|a :0.5 x:2 :3": {55432: 2.0, 92594: 0.5, 92595: 3.0},
    "|a:2 :0.5": {92594: 1.0},
    "|a :0 :1": {92595: 1.0},
    "| :0.5 |a :1 |b :2": {0: 0.5, 92594: 1.0, 163331: 2.0},
    "|a :1 |a :2": {92594: 3.0},
    "|a x:true": {186827: 1.0},
    "|a:2 x:true": {186827: 1.0},
    "| x:true": {132799: 1.0},
    "| 7:yes": {167800: 1.0},
    "|3 x:true": {30329: 1.0},
    "|a 5:true": {227762: 1.0},
    "|a x:é": {208773: 1.0},
    "|a x:in": {11841: 1.0},
    "|a :true :yes :1": {92594: 1.0, 110762: 1.0, 116810: 1.0},
}
"""Entries that Vowpal Wabbit 9.11.9 reads with -b 18; those of one column are added up here."""


@pytest.mark.parametrize("mode", [HASHED, NAMED])
def test_nameless_features_and_words_as_values_are_those_of_vowpal_wabbit(mode):
    rows = rows_of("".join(f"1 {text}\n" for text in NAMELESS), mode=mode)
    assert rows.faults == []
    assert entries_of(rows) == list(NAMELESS.values())


def test_nameless_features_have_no_column_by_name():
    rows = rows_of("1 |a x:red :3\n1 |a x:blue x:2 x:red\n", mode=NUMBERED)
    assert [(fault.line, fault.column) for fault in rows.faults] == [(0, 12)]
    assert "':3' has no name before the colon, and vocabulary=True" in rows.faults[0].reason
    assert names_of(rows) == ["a|x:blue", "a|x", "a|x:red"]
    assert entries_of(rows) == [{0: 1.0, 1: 2.0, 2: 1.0}]


@pytest.mark.parametrize("case", BAD)
def test_a_malformed_row_leaves_its_fault_and_nothing_else(case):
    bad, column, reason = BAD[case]
    rows = rows_of(f"1 |a x\n\n{bad}\n-1 2 |b y:3\n")
    ((line, at, told, row),) = rows.faults
    assert (line, at, row) == (2, column, bad.encode())
    assert told.startswith(reason)
    assert rows.labels.tolist() == [1, -1]
    assert rows.weights.tolist() == [1, 2]
    assert rows.places.tolist() == [0, 3]
    assert entries_of(rows) == [{X: 1}, {Y: 3}]
    numbered = rows_of(f"1 |a x\n\n{bad}\n-1 2 |b y:3\n", mode=NUMBERED)
    assert numbered.faults == rows.faults
    assert names_of(numbered) == ["a|x", "b|y"]
    assert entries_of(numbered) == [{0: 1}, {1: 3}]


def test_too_large_for_float32_only():
    text = "1 |a x:1e39\n1 |a x:3e38 x:3e38\n1 |a:1e20 x:1e20\n1 |a x:1e38\n"
    assert [(f.line, f.column) for f in rows_of(text, dtype=np.float32).faults] == [(0, 8), (1, 15), (2, 13)]
    assert rows_of(text).faults == []


def test_many_faults_and_many_hard_numbers():
    """More than the compiled reader hands over at once, in rows and in one row, mixed."""
    digits = "1" * 30
    lines = [f"{k % 2} 1.{digits} |a:1.{digits} x:{k}.{digits} y:{'-z' if k % 3 == 0 else 1}" for k in range(6000)]
    long = "1 | " + " ".join(f"{j}:0.{digits}{j}" for j in range(9000, 0, -1))
    rows = rows_of("\n".join([*lines, long, "1 |a x"]) + "\n")
    assert [fault.line for fault in rows.faults] == list(range(0, 6000, 3))
    assert len(rows.labels) == 4002
    assert set(weights_of(rows)) == {1.0, float(f"1.{digits}")}
    found = entries_of(rows)
    assert found[0][X] == float(f"1.{digits}") ** 2
    assert found[-2] == {j: float(f"0.{digits}{j}") for j in range(1, 9001)}
    assert found[-1] == {X: 1}


@pytest.mark.parametrize("after", ["", " y", "|b y", "  ", "\t", " a_long_name:1.25 |b other"])
def test_short_numbers(after):
    """Numbers that are looked at in one go, and those around them, also where the text ends soon."""
    for digits in range(12):
        for sign in ("", "-", "+"):
            for end in ("", "e1", "E-2", "e+22"):
                written = f"{sign}7.{'96875314159'[:digits]}{end}"
                rows = rows_of(f"1 |a x:{written}{after}\n")
                assert rows.values[rows.indices == X].tolist() == [float(written)]
    for bad in ("7.5.", "7.5-", "7.5:", "7.5x", "7.5e", "7.12345678x", "7.1234567/", "-x.5", "7..", "7.;", "-7.5-"):
        assert [fault.column for fault in rows_of(f"1 |a x:{bad}{after}\n").faults] == [8]


def test_hard_numbers_are_nearest_in_their_type():
    text = "1 |a x:1.00000005960464477540\n1 |a x:9007199254740993.00000000001\n"
    assert rows_of(text, dtype=np.float32).values.tolist() == [np.nextafter(np.float32(1), np.float32(2)), 2.0**53]
    assert rows_of(text).values.tolist() == [1.0000000596046448, 9007199254740994.0]


@pytest.mark.slow
def test_a_long_line():
    """Sorted and summed at any length, also where all columns are alike."""
    many = [f"{'w' if k % 2 else ''}{k * 7919 % 30011}:{k % 5}.5" for k in range(100_000)]
    line = f"-1 'tag|a {' '.join(many)} |b:2 {' '.join(many)}"
    for bits in (2, 18, 31):
        rows = rows_of(line + "\n", bits=bits)
        assert entries_of(rows) == [reference(line, bits)[2]]


def test_nothing():
    for text in ("", "\n", " \n\r\n"):
        rows = rows_of(text)
        assert (len(rows.labels), len(rows.values), rows.indptr.tolist(), rows.faults) == (0, 0, [0], [])


name = st.text(st.characters(codec="utf-8", exclude_characters="|:'", exclude_categories=("C", "Z")), min_size=1)
some_name = st.one_of(name, st.sampled_from("abc"), st.integers(0, 2**70).map(str))
some_number = st.one_of(
    st.floats(-1e9, 1e9).map(repr), st.integers(-9, 9).map(str), st.decimals(-99, 99, places=25).map(lambda d: f"{d:f}")
)


@st.composite
def lines(draw, nameless=True):
    """Draw the words of a sound line, and a seed that puts them together: hundreds of draws would take long."""
    names = draw(st.lists(some_name, min_size=1, max_size=8))
    numbers = draw(st.lists(some_number, min_size=1, max_size=8))
    importance = draw(st.floats(0, 9).map(repr))
    seeded = Random(draw(st.integers(0, 2**32)))

    def number_if(may):
        return [seeded.choice(numbers)] if may and seeded.random() < 0.5 else []

    before = number_if(True)
    before += [importance] if before and seeded.random() < 0.5 else []
    before += number_if(len(before) == 2)
    line = "".join(word + seeded.choice([" ", "  "]) for word in before)
    line += seeded.choice(["", "", "'tag", "tag", "'tag "])
    for _ in range(seeded.randint(1, 3)):
        line += "|" + seeded.choice(["", seeded.choice(names)])
        line += "".join(":" + number for number in number_if(line[-1] != "|"))
        for _ in range(seeded.randint(0, 20)):
            line += seeded.choice([" ", "  ", "\t"]) + seeded.choice(names)
            words = [seeded.choice(WORD_VALUES)] if seeded.random() < 0.2 else []
            line += "".join(":" + value for value in number_if(True) or words)
            if seeded.random() < 0.1:
                line += f" :{seeded.choice(numbers if nameless else WORD_VALUES)}"
        line += seeded.choice(["", " "])
    return line


@pytest.mark.slow
@settings(max_examples=200)
@given(st.lists(lines(), max_size=5), st.sampled_from([3, 18, 31]), st.sampled_from(["\n", "\r\n"]))
def test_rows_are_those_of_plain_python(written, bits, end):
    rows = rows_of("".join(line + end for line in written), bits=bits)
    expected = [reference(line, bits) for line in written]
    assert rows.faults == []
    np.testing.assert_array_equal(rows.labels, [label for label, _, _ in expected])
    assert weights_of(rows) == [importance for _, importance, _ in expected]
    assert entries_of(rows) == [row for _, _, row in expected]


@settings(max_examples=100)
@given(st.lists(st.floats(-1e30, 1e30), max_size=20))
def test_float32(numbers):
    line = "1 | " + " ".join(f"{k % 7}:{value!r}" for k, value in enumerate(numbers))
    assert entries_of(rows_of(line + "\n", dtype=np.float32)) == [reference(line, 18, np.float32)[2]]


@pytest.mark.slow
@settings(max_examples=500)
@given(st.one_of(st.binary(), st.text("01 .e-+|:'ax\t\r\n\0").map(str.encode)))
@example(b"1 |a aaaaaaaaa\xff:1")
def test_any_bytes_are_rows_or_faults(data):
    rows = rows_of(data + b"\n")
    numbered = parse(at_the_wall(data + b"\n"), mode=NUMBERED)
    nameless = {fault.line for fault in numbered.faults if "has no name before" in fault.reason}
    assert [f for f in numbered.faults if f.line not in nameless] == [f for f in rows.faults if f.line not in nameless]
    assert set(numbered.indices.tolist()) == set(range(len(numbered.names.marks) - 1))
    written = (data + b"\n").split(b"\n")[:-1]
    filled = [k for k, line in enumerate(written) if line.removesuffix(b"\r").strip(b" \t")]
    assert len(rows.labels) + len(rows.faults) == len(filled)
    assert rows.lines == len(written)
    places = [fault.line for fault in rows.faults]
    assert places == sorted(set(places) & set(filled))
    assert all(fault.row == written[fault.line] for fault in rows.faults)
    assert all(1 <= fault.column <= len(fault.row) + 1 for fault in rows.faults)
    assert np.all(np.isfinite(rows.values))
    assert min(weights_of(rows), default=1) >= 0
    assert len(rows.values) == len(rows.indices) == rows.indptr[-1]
    entries_of(rows)


def full_hash(feature, space):
    """Return the hash of a feature, of which the last bits are its column; without a name that of its namespace."""
    if feature:
        return column_of(feature, space, 2**32)
    return (int(space) if space.encode().isdigit() else hash_of(space)) % 2**32 if space else 0


def spelled(line):
    """Return the names of the entries of one sound line in plain Python, in order; those with the value 0 left out."""
    for part in line.split("|")[1:]:
        space, *features = ["", *part.split()] if part[:1] in ("", " ", "\t") else part.split()
        space, scale = [*space.split(":"), "1"][:2]
        for feature, value in ([*word.split(":"), "1"][:2] for word in features):
            if value in WORD_VALUES:
                yield (f"{space}|{feature}:{value}" if space else f"{feature}:{value}"), (feature, space, value)
            elif float(value) * float(scale):
                yield (f"{space}|{feature}" if space else feature), (feature, space)


@pytest.mark.slow
@settings(max_examples=200)
@given(st.lists(lines(nameless=False), max_size=5), st.sampled_from([1, 18]))
def test_names_are_those_of_plain_python(written, bits):
    text = "".join(line + "\r\n" for line in written)
    names = dict(name for line in written for name in spelled(line))
    named, plain = rows_of(text, bits=bits, mode=NAMED), rows_of(text, bits=bits, mode=HASHED)
    assert names_of(named) == list(names)
    assert named.name_columns.tolist() == [
        hash_of(parts[2], full_hash(*parts[:2])) % 2**bits if parts[2:] else column_of(*parts, 2**bits)
        for parts in names.values()
    ]
    assert entries_of(named) == entries_of(plain)
    numbered = rows_of(text, mode=NUMBERED)
    assert names_of(numbered) == list(names)
    numbers = {name: k for k, name in enumerate(names)}
    found = [set(row) for row in entries_of(numbered)]
    assert found == [{numbers[name] for name, _ in spelled(line)} for line in written]
    np.testing.assert_array_equal(numbered.labels, plain.labels)


def test_names_that_are_told_apart_by_spelling_only():
    rows = rows_of("1 |a x^y |a^x y | a^x^y |7 5 |5 7 | 12 012 |ab c |a bc\n", mode=NUMBERED)
    assert names_of(rows) == ["a|x^y", "a^x|y", "a^x^y", "7|5", "5|7", "12", "012", "ab|c", "a|bc"]
    assert entries_of(rows) == [dict.fromkeys(range(9), 1.0)]


def test_more_names_than_there_is_room_for_at_first():
    """Names take room by rows: what a row began to add is there once, also where its numbers are hard or it is bad."""
    hard = f"0.{'1' * 30}"
    many = [" ".join(f"{i * 37 + k:x}:{hard if i % 5 == 0 else 2}" for k in range(200)) for i in range(50)]
    bad = "1 |n " + " ".join(f"bad{k}" for k in range(999)) + " x:-y"
    text = "".join(f"1 |n {row}\n{bad}\n" for row in many)
    rows = rows_of(text, mode=NUMBERED)
    assert len(rows.faults) == 50
    names = dict.fromkeys(f"n|{i * 37 + k:x}" for i in range(50) for k in range(200))
    assert names_of(rows) == list(names)
    numbers = {name: k for k, name in enumerate(names)}
    for i, row in enumerate(entries_of(rows)):
        value = float(hard) if i % 5 == 0 else 2.0
        assert row == {numbers[f"n|{i * 37 + k:x}"]: value for k in range(200)}
    long = "1 | " + " ".join(f"{'w' * 5000}{k}" for k in range(3))
    assert [len(name) for name in names_of(rows_of(long + "\n", mode=NUMBERED))] == [5001] * 3
