"""Random files of every format, checked against plain references; `benchmarks/fuzz.py` runs many of them.

Text is generated from pieces of valid rows and from bytes that are likely to break them. The references split it and
read it with `re`, `float`, `Fraction`, `str.lower` and scikit-learn's MurmurHash3. Files of Parquet, Arrow, Feather and
npz are compared with the rows that they were written from, then damaged. A damaged file gives a DataError that names
the file, or rows: where the format has a checksum, the rows that were written.
"""

import bz2
import gzip
import io
import lzma
import math
import random
import re
import time
import warnings
from fractions import Fraction
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq
import pytest
from sklearn.utils import murmurhash3_32

import linsep
from linsep.data.errors import NO_ROWS, DataError

NUMBER = re.compile(rb"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
NUMBERS = [
    b"0", b"1", b"-1", b"2.5", b"+3", b".5", b"7.", b"1e3", b"-0", b"0.1", b"1e-320", b"1e999", b"-1e400", b"1e39",
    b"123456789012345678901234567890", b"0.1234567890123456789", b"9007199254740993", b"3.4028235677973366e38",
    b"1.00000005960464477540", b"1e-46", b"0e9999999999999999", b"2.2250738585072011e-308", b"1e", b"e1", b".", b"-",
    b"nan", b"inf", b"0x10", b"1_0", b"1.2.3", b"--1",
]  # fmt: skip
JUNK = [bytes([byte]) for byte in b" \t\r\0#:|',\"\x0b\x7f\x1f"] + [b"\xff", b"\xe2\x82", b"\xc3\xa9", b"\r\r", b"\n\n"]
WORDS = [b"rose", b"is", b"Oslo", b"x", "Łódź".encode(), "ΣΊΣΥΦΟΣ".encode(), "İ".encode(), b"12", b"007", b"", b"NA"]


class Rows(NamedTuple):
    """The rows of a text by a reference: labels, entries, and the lines of malformed rows, from 1."""

    labels: list
    entries: list
    wrong: list


class MalformedError(Exception):
    """A row that a reference refuses."""


def nearest(text, dtype):
    """Return the number of a type that is nearest to a decimal number; refuse what is none, or not finite."""
    if not NUMBER.fullmatch(text):
        raise MalformedError(text)
    value = float(text)
    if dtype is np.float32 and math.isfinite(value) and value:
        exponent = re.split(rb"[eE]", text)[-1] if re.search(rb"[eE]", text) else b"0"
        if abs(int(exponent)) < 400:
            exact = Fraction(text.decode())
            with np.errstate(over="ignore"):
                guess = np.float32(value)
            around = [np.nextafter(guess, np.float32(end)) for end in (-np.inf, np.inf)]
            edge = Fraction(2) ** 128

            def far(number):
                size = Fraction(float(number)) if np.isfinite(number) else edge * int(np.sign(number))
                return abs(size - exact), int(number.view(np.uint32)) & 1

            value = float(min([guess, *around], key=far))
        else:
            value = float(np.float32(value))
    if not math.isfinite(value):
        raise MalformedError(text)
    return value


def lines_of(text):
    r"""Return the lines of a text without LF or CR LF."""
    lines = text.split(b"\n")
    lines = lines if lines[-1] else lines[:-1]
    return [line.removesuffix(b"\r") for line in lines]


def by_line(text, row):
    """Return the rows of a text by a function that reads a line, and returns None where it holds no row."""
    rows = Rows([], [], [])
    for number, line in enumerate(lines_of(text.removeprefix(b"\xef\xbb\xbf")), 1):
        try:
            found = row(line)
        except MalformedError:
            rows.wrong.append(number)
            continue
        if found is not None:
            rows.labels.append(found[0])
            rows.entries.append(found[1])
    return rows


def svmlight_row(line, dtype):
    """Read `label [qid:n] index:value ... [# comment]`."""
    words = re.split(rb"[ \t]+", line.split(b"#")[0].strip(b" \t"))
    if words == [b""]:
        return None
    label, entries, last, qids = nearest(words[0], np.float64), [], -1, 0
    for word in words[1:]:
        if word.startswith(b"q") and not entries:
            qids += 1
            if qids > 1 or not re.fullmatch(rb"qid:[0-9]+", word):
                raise MalformedError(word)
            continue
        index, colon, value = word.partition(b":")
        if not (colon and re.fullmatch(rb"[0-9]{1,18}", index)) or int(index) <= last:
            raise MalformedError(word)
        last = int(index)
        entries.append((last, nearest(value, dtype)))
    return label, entries


def svmlight_text(rng):
    """Return lines that are mostly svmlight."""
    lines = []
    for _ in range(rng.randint(0, 8)):
        index, words = rng.choice([0, 1, 1, 1]), [rng.choice(NUMBERS[:12])]
        if rng.random() < 0.1:
            words += [rng.choice([b"qid:7", b"qid:", b"qid:x", b"qud:1"])] * rng.choice([1, 1, 2])
        for _ in range(rng.randint(0, 5)):
            words.append(b"%d:%b" % (index, rng.choice(NUMBERS[:12] if rng.random() < 0.8 else NUMBERS)))
            index += rng.choice([0, 1, 1, 2, 5, 1 << 31] if rng.random() < 0.1 else [1, 2])
        lines.append(
            rng.choice([b" ", b" ", b"\t", b"  "]).join(words) + rng.choice([b"", b"", b"", b" ", b" # a 1:1"])
        )
    return lines


def vw_names(namespace, name, word=None):
    """Return the hash of a name in a namespace, with a word as its value or not, and how it is called."""

    def hashed(text, seed):
        return int(text) + seed if re.fullmatch(rb"[0-9]+", text) else murmurhash3_32(text, seed % 2**32, positive=True)

    seed = hashed(namespace, 0) % 2**32 if namespace else 0
    spelled = (namespace + b"^" if namespace else b"") + name
    number = hashed(name, seed) if name else seed
    if word is not None:
        number, spelled = murmurhash3_32(word, number % 2**32, positive=True), spelled + b":" + word
    return number, spelled.decode("utf-8", "surrogateescape")


def is_word(value):
    """Return whether a value is a word: nothing that begins as a number does."""
    return value and b":" not in value and not re.match(rb"(?i)[-+.0-9]|nan|inf", value)


def vw_row(line, dtype, vocabulary):
    """Read `[label [importance [base]]] ['tag]|namespace[:scale] feature[:value] ...`: columns are hashed names."""
    if not line.strip(b" \t"):
        return None
    head, bar, rest = line.partition(b"|")
    if not bar or b"\t" in head or re.search(rb"[\0-\x1f]", line.replace(b"\t", b"")):
        raise MalformedError(line)
    head = head.lstrip(b" ")
    words = [word for word in head.split(b" ") if word]
    touching = bool(words) and not head.endswith(b" ")
    words = words[:-1] if touching else words
    tagged = [k for k, word in enumerate(words) if word.startswith(b"'")]
    if tagged:
        if tagged[0] != len(words) - 1 or touching:
            raise MalformedError(head)
        words = words[:-1]
    if len(words) > 3:
        raise MalformedError(head)
    numbers = [nearest(word, np.float64) for word in words]
    if len(numbers) > 1 and numbers[1] < 0:
        raise MalformedError(head)
    entries = []
    for space in rest.split(b"|"):
        namespace, scale = b"", 1.0
        words = re.split(rb"[ \t]+", space)
        if words[0]:
            namespace, colon, number = words[0].partition(b":")
            if not namespace or len(namespace) > 255:
                raise MalformedError(words[0])
            scale = nearest(number, np.float64) if colon else 1.0
        unnamed = 0
        for word in words[1:]:
            name, colon, number = word.partition(b":")
            if not word:
                continue
            if colon and is_word(number):
                entries.append((vw_names(namespace, name, number), 1.0))
                continue
            if not name and vocabulary:
                raise MalformedError(word)
            value = nearest(number, dtype) * scale if colon else scale
            with np.errstate(over="ignore"):
                value = float(dtype(value))
            if not math.isfinite(value):
                raise MalformedError(word)
            number, spelled = vw_names(namespace, name)
            if not name:
                number, unnamed = number + unnamed, unnamed + 1
            if value:
                entries.append(((number % 2**32 if not name else number, spelled), value))
    return numbers[0] if numbers else math.nan, entries


def vw_text(rng):
    """Return lines that are mostly Vowpal Wabbit text."""
    lines = []
    for _ in range(rng.randint(0, 8)):
        few = rng.random() < 0.8
        head = [rng.choice(NUMBERS[:10] if few else NUMBERS) for _ in range(rng.choice([0, 1, 1, 2, 3, 4]))]
        line = b" ".join(head) + rng.choice([b"", b" ", b" ", b" 'tag", b" 'tag ", b" tag"])
        for _ in range(rng.randint(0 if rng.random() < 0.05 else 1, 3)):
            line += b"|" + rng.choice(
                [b"", b"a", b"b", b"12", b"a:2", b"b:.5", b"n" * 256, b":1", b"c:x"][: 6 if few else 9]
            )
            for _ in range(rng.randint(0, 4)):
                value = rng.choice([b"", b"", b":" + rng.choice(NUMBERS[:12] if few else NUMBERS)])
                line += rng.choice([b" ", b" ", b"\t", b"  "]) + rng.choice(WORDS[:9]) + value
                if rng.random() < 0.1:
                    line += rng.choice([b" :2", b" :0.5", b":red", b" x:n", b" y:info", b" y:in", b" z:a:1", b" 7:yes"])
        lines.append(line)
    return lines


def text_row(line):
    """Read `label<TAB>text` to a label and its words, lower-cased."""
    label, tab, text = line.partition(b"\t")
    if not line:
        return None
    if b"\0" in line:
        raise MalformedError(line)
    if not tab:
        if line.isspace():
            return None
        raise MalformedError(line)
    try:
        name, lower = label.decode(), text.decode().lower()
    except UnicodeDecodeError:
        raise MalformedError(line) from None
    if not name or name.isspace() or len(label) > 256:
        raise MalformedError(label)
    return name, [(word, 1.0) for word in re.findall(r"\w\w+", lower)]


def text_text(rng):
    """Return lines that are mostly labelled text."""
    lines = []
    for _ in range(rng.randint(0, 8)):
        words = [rng.choice([*WORDS, b"a_b", b"-", b"."]) for _ in range(rng.randint(0, 6))]
        label = rng.choice([b"spam", b"ham", b"a b", "é".encode()] if rng.random() < 0.9 else [b"", b" ", b"n" * 257])
        lines.append(label + rng.choice([b"\t", b"\t", b"\t", b"\t\t", b" "]) + b" ".join(words))
    return lines


def garbled(rng, lines):
    """Return the lines as one text, with some junk in it, and ends of lines of several kinds."""
    if rng.random() < 0.5 and lines:
        for _ in range(rng.randint(1, 2)):
            k = rng.randrange(len(lines))
            at = rng.randint(0, len(lines[k]))
            lines[k] = lines[k][:at] + rng.choice(JUNK) + lines[k][at + rng.randint(0, 1) :]
    end = rng.choice([b"\n", b"\n", b"\r\n"])
    return end.join(lines) + rng.choice([b"", end]) + rng.choice([b"", b"", end])


def read(source, format, **options):
    """Return rows that are read, or None where there are none at all."""
    try:
        return linsep.read(source, format=format, n_jobs=1, **options)
    except DataError as error:
        if error.reason != NO_ROWS:
            raise
        return None


def check_counts(text, format, rows, options):
    """Check how many rows are malformed, and where the first of them is; return the data, None if there are none."""
    got = read(io.BytesIO(text), format, on_error="skip", **options)
    assert (got is None) == (not rows.labels and not rows.wrong), "whether there are rows"
    if got is None:
        return None
    assert (len(got), got.rejected) == (len(rows.labels), len(rows.wrong)), "rows, and malformed rows"
    if rows.wrong:
        with pytest.raises(DataError) as caught:
            read(io.BytesIO(text), format, **options)
        assert caught.value.line == rows.wrong[0], f"the line of the first malformed row: {caught.value}"
    return got


def entries_of(got):
    """Return the columns and values of each row."""
    return [
        list(zip(got.X.indices[i:k].tolist(), got.X.data[i:k].tolist(), strict=True))
        for i, k in zip(got.X.indptr[:-1], got.X.indptr[1:], strict=True)
    ]


def common(rng):
    """Return options of all formats of lines."""
    return {"dtype": rng.choice([np.float64, np.float32]), "block_bytes": rng.choice([1, 7, 40, 1 << 16])}


def check_svmlight(rng, folder):
    """Check svmlight text."""
    options = common(rng)
    text = garbled(rng, svmlight_text(rng))
    rows = by_line(text, lambda line: svmlight_row(line, options["dtype"]))
    got = check_counts(text, "svmlight", rows, options)
    if got is not None:
        first = 0 if any(index == 0 for row in rows.entries for index, _ in row) else 1
        assert entries_of(got) == [[(index - first, value) for index, value in row] for row in rows.entries]
        assert got.y.tolist() == rows.labels
    return text, got


def check_vw(rng, folder):
    """Check Vowpal Wabbit text, hashed or with a vocabulary."""
    options, bits = common(rng), rng.choice([1, 4, 18, 31])
    vocabulary = rng.random() < 0.5
    text = garbled(rng, vw_text(rng))
    numbers = {}

    def row(line):
        found = vw_row(line, options["dtype"], vocabulary)
        if found is None:
            return None
        label, entries = found
        known, sums = dict(numbers), {}
        for (h, name), value in entries:
            column = known.setdefault(name, len(known)) if vocabulary else h % 2**bits
            with np.errstate(over="ignore"):
                sums[column] = sums[column] + options["dtype"](value) if column in sums else options["dtype"](value)
        if not all(map(np.isfinite, sums.values())):
            raise MalformedError(line)
        numbers.update(known)
        return label, sorted((column, float(value)) for column, value in sums.items())

    rows = by_line(text, row)
    options |= {"vocabulary": True} if vocabulary else {"n_features": 2**bits}
    got = check_counts(text, "vw", rows, options)
    if got is not None:
        assert entries_of(got) == rows.entries
        assert np.array_equal(got.y, np.array(rows.labels, float), equal_nan=True)
        assert not vocabulary or list(got.feature_names) == list(numbers)
    return text, got


def check_text(rng, folder):
    """Check labelled text with a vocabulary."""
    options = common(rng)
    text = garbled(rng, text_text(rng))
    rows, numbers = by_line(text, text_row), {}
    expected = []
    for words in rows.entries:
        counts = {}
        for word, _ in words:
            column = numbers.setdefault(word, len(numbers))
            counts[column] = counts.get(column, 0.0) + 1
        expected.append(sorted(counts.items()))
    got = check_counts(text, "text", rows, options | {"vocabulary": True, "norm": None})
    if got is not None:
        assert entries_of(got) == expected
        assert (got.y.tolist(), list(got.feature_names)) == (rows.labels, list(numbers))
    return text, got


NOTHING = {b"", b"na", b"n/a", b"#n/a", b"#na", b"nan", b"+nan", b"-nan", b"null", b"none", b"<na>"}


def csv_rows(text):
    """Yield the line and the fields of each row; ends of rows are LF, CR and CR LF outside of quotes."""
    fields, field, row, line, begin, inside, k = [], b"", b"", 1, 1, False, 0
    start = True
    while k < len(text):
        c = text[k : k + 1]
        line += c == b"\n"
        if inside:
            if c != b'"':
                field += c
            elif text[k + 1 : k + 2] == b'"':
                field += c
                k += 1
            else:
                inside = False
            row += c
        elif start and c == b'"':
            inside, start, row = True, False, row + c
        elif c in b"\r\n":
            if text[k : k + 2] == b"\r\n":
                k += 1
                line += 1
            if row:
                yield begin, [*fields, field], row
            fields, field, row, begin, start = [], b"", b"", line, True
        elif c == b",":
            fields, field, row, start = [*fields, field], b"", row + c, True
        else:
            field, row, start = field + c, row + c, False
        k += 1


def csv_word(cell):
    """Return the word of a cell; None where there is none."""
    try:
        word = cell.decode()
    except UnicodeDecodeError:
        raise MalformedError(cell) from None
    return {"True": "true", "TRUE": "true", "False": "false", "FALSE": "false"}.get(word, word) or None


def csv_number(cell, dtype, missing):
    """Return the number of a cell; 0 or an error where there is none."""
    cell = cell.strip(b" \t")
    if cell.lower() not in NOTHING:
        return nearest(cell, dtype)
    if missing == "error":
        raise MalformedError(cell)
    return 0.0


def csv_text(rng):
    """Return lines that are mostly CSV of two numbers, a word and a label."""
    good = [b"1", b"2.5", b"-3e2", b".5", b"+7", b"1e-320"]
    lines = []
    for _ in range(rng.randint(0, 8)):
        numbers = [rng.choice(good if rng.random() < 0.8 else [*NUMBERS, b"NA", b"", b" 1 ", b'"2"']) for _ in range(2)]
        word = rng.choice(
            [b"Oslo", b"true", b"TRUE", "Łódź".encode(), b'"a,b"', b'"q""q"', b'"x\ny"', b'"x\ry"', b"NA", b""]
        )
        cells = [
            *numbers,
            word,
            rng.choice([b"0", b"1", b"1", b"7", b"1.5", b"9007199254740993", b""][: rng.choice([4, 7])]),
        ]
        lines.append(b",".join(cells[: 4 if rng.random() < 0.95 else 3]))
    return lines


def check_csv(rng, folder):
    """Check CSV: columns of numbers, of words, and labels that are numbers or words."""
    options = {"dtype": rng.choice([np.float64, np.float32]), "missing": rng.choice(["error", "zero"])}
    worded, label_words = rng.random() < 0.5, rng.random() < 0.3
    fine = b"1,2,Oslo,1\n" * 20  # most cells of the first block are numbers
    lines = csv_text(rng)
    if not worded:
        lines = [re.sub(rb"[^,]*,([^,]*)$", rb"5,\1", line) for line in lines]
        fine = b"1,2,5,1\n" * 20
    head = b"a,b,c,y\n" + fine
    body = garbled(rng, lines)
    body += b"" if not body or body.endswith((b"\n", b"\r")) else b"\n"
    text = head + body
    options |= {"words": [*(["c"] if worded else []), *(["y"] if label_words else [])]}
    options["block_bytes"] = len(head) + rng.choice([1, 7, 40, 1 << 16])
    opened = sum(1 for _ in csv_rows(text + b"\n"))  # an open quote swallows the rest
    if opened != sum(1 for _ in csv_rows(text + b'"\n')) or not text.endswith((b"\n", b"\r")):
        return text, None
    numbers, rows = {}, Rows([], [], [])
    for line, cells, raw in csv_rows(text.removeprefix(b"\xef\xbb\xbf")):
        if line == 1:
            continue
        try:
            if len(cells) != 4 or b"\0" in raw:
                raise MalformedError(raw)
            values = [csv_number(cell, options["dtype"], options["missing"]) for cell in cells[: 2 if worded else 3]]
            word = csv_word(cells[2]) if worded else None
            if worded and word is None and options["missing"] == "error":
                raise MalformedError(raw)
            label = csv_word(cells[3]) if label_words else csv_number(cells[3], np.float64, "error")
            if label is None or (not label_words and abs(label) >= 2**53):
                raise MalformedError(raw)
        except MalformedError:
            rows.wrong.append(line)
            continue
        rows.labels.append(label)
        rows.entries.append((values, None if word is None else numbers.setdefault(word, len(numbers))))
    got = check_counts(text, "csv", rows, options)
    X = np.zeros((len(rows.labels), (2 if worded else 3) + len(numbers)))
    for k, (values, word) in enumerate(rows.entries):
        X[k, : len(values)] = values
        if word is not None:
            X[k, 2 + word] = 1
    assert np.array_equal(got.X.toarray() if worded else got.X, X)
    assert got.y.tolist() == rows.labels
    return text, got


def table_of(rng):
    """Return a table, and the rows and labels that are expected of it."""
    n = rng.randint(1, 12)
    a = [rng.choice([0.0, 1.5, -2e300, 5e-324]) for _ in range(n)]
    b = [rng.randint(-5, 5) for _ in range(n)]
    words = [rng.choice(["Oslo", "Łódź", "true", "a\0b"]) for _ in range(n)]
    y = (
        [rng.choice([0, 1, 7]) for _ in range(n)]
        if rng.random() < 0.5
        else [rng.choice(["no", "yes"]) for _ in range(n)]
    )
    word_type = rng.choice([pa.string(), pa.large_string(), pa.dictionary(pa.int8(), pa.string())])
    number_type = rng.choice([pa.int8(), pa.int64(), pa.float32()])
    table = pa.table(
        {"a": pa.array(a), "b": pa.array(b, number_type), "w": pa.array(words).cast(word_type), "y": pa.array(y)}
    )
    order = list(dict.fromkeys(words))
    X = [[a[k], b[k], *(float(words[k] == word) for word in order)] for k in range(n)]
    return table, X, y


def write_parquet(rng, table, path):
    pq.write_table(
        table, path, row_group_size=rng.choice([2, 100]), compression=rng.choice(["none", "snappy", "zstd", "gzip"]),
        use_dictionary=rng.random() < 0.5, write_page_checksum=rng.random() < 0.5,
    )  # fmt: skip


def write_arrow(rng, table, path):
    options = pa.ipc.IpcWriteOptions(compression=rng.choice([None, "lz4", "zstd"]))
    kind = rng.choice([pa.ipc.new_stream, pa.ipc.new_file])
    with pa.OSFile(str(path), "wb") as file, kind(file, table.schema, options=options) as writer:
        writer.write_table(table, max_chunksize=rng.choice([2, 100]))


def write_feather(rng, table, path):
    pa.feather.write_feather(table, path, compression=rng.choice(["uncompressed", "lz4", "zstd"]))


def damaged(rng, data):
    """Return bytes that are cut off, overwritten, or longer."""
    kind, data = rng.random(), bytearray(data)
    if kind < 0.2:
        return bytes(data[: rng.randrange(len(data))])
    if kind < 0.25:
        return bytes(data) + rng.choice([b"\0", b"junk", b"\xff" * 8])
    for _ in range(rng.choice([1, 1, 1, 2, 8])):
        at = rng.randrange(len(data))
        if rng.random() < 0.3:
            forged = rng.choice([b"\xff" * 4, b"\xff\xff\xff\x7f", b"\0" * 8, (1 << 40).to_bytes(8, "little")])
            data[at : at + len(forged)] = forged[: len(data) - at]
        else:
            data[at] ^= 1 << rng.randrange(8)
    return bytes(data)


def use(got):
    """Use all of the data, as a learner would: labels are words or numbers, entries finite and inside of the width."""
    values = got.X.data if hasattr(got.X, "indptr") else got.X
    assert np.isfinite(np.asarray(values)).all()
    assert len(got.y.tolist()) == got.X.shape[0]
    if hasattr(got.X, "indptr") and len(got.X.indices):
        assert 0 <= got.X.indices.min() <= got.X.indices.max() < got.X.shape[1]
    return got


def check_name(path, error):
    """Check that an error names the file."""
    assert path.name in str(error), f"no name of the file: {error}"


def check_damaged(rng, path, read_it, data):
    """Damage a file: it must be a DataError with the file's name, or rows; return these, or None."""
    path.write_bytes(damaged(rng, data))
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)
            return use(read_it(path))
    except DataError as error:
        check_name(path, error)
        return None


def table_check(format, write):
    """Return the check of a format of tables."""

    def check(rng, folder):
        path = folder / f"rows.{format}"
        table, X, y = table_of(rng)
        write(rng, table, path)
        data = path.read_bytes()
        got = linsep.read(path, n_jobs=1)
        assert (got.X.toarray().tolist(), got.y.tolist()) == (X, y)
        options = {
            "format": "parquet" if format == "parquet" else "arrow",
            "n_jobs": 1,
            "label": "y",
            "missing": "zero",
        }
        check_damaged(rng, path, lambda path: linsep.read(path, on_error="skip", **options), data)
        return path.read_bytes(), got

    return check


def check_npz(rng, folder):
    """Check npz files: what is damaged is an error when contents are verified, or changed nothing."""
    path = folder / "rows.npz"
    n, width = rng.randint(1, 9), rng.randint(1, 5)
    X = np.round(np.random.default_rng(rng.randrange(1 << 30)).normal(size=(n, width)), 1)
    y = rng.choice([np.arange(n) % 3, np.arange(n) / 2, np.array(["no", "yes", "é"])[np.arange(n) % 3]])
    if rng.random() < 0.5:
        np.savez(path, X=X, y=y)
    else:
        (folder / "rows.svm").write_text(
            "".join(f"{k % 3} " + " ".join(f"{j + 1}:{v}" for j, v in enumerate(row)) + "\n" for k, row in enumerate(X))
        )
        y = np.arange(n) % 3
        linsep.convert(folder / "rows.svm", path, n_jobs=1)
    data = path.read_bytes()

    def same(got):
        dense = got.X.toarray() if hasattr(got.X, "toarray") else got.X
        assert (dense.tolist(), got.y.tolist()) == (X.tolist(), y.tolist()), "other rows"

    got = linsep.read(path)
    same(got)
    strict = check_damaged(rng, path, lambda path: linsep.read(path, format="binary", verify=True), data)
    if strict is not None:
        same(strict)
    del strict
    try:
        for block in linsep.stream(path, format="binary", block_rows=3):
            assert len(block.y.tolist()) == len(block)
    except DataError as error:
        check_name(path, error)
    return path.read_bytes(), got


def check_compressed(rng, folder):
    """Check compressed svmlight text of several members, sound and damaged; only zstd without checksums may err."""
    pack, suffix = rng.choice([(gzip.compress, "gz"), (bz2.compress, "bz2"), (lzma.compress, "xz"), (None, "zst")])
    members = [b"".join(b"%d 1:%d\n" % (rng.randint(0, 1), rng.randint(0, 9)) for _ in range(rng.randint(1, 30)))]
    members += [members[0]] * rng.choice([0, 0, 1, 2])
    pack = pack or (lambda data: pa.compress(data, codec="zstd", asbytes=True))
    packed = [pack(member) for member in members]
    data = b"".join(packed)
    path = folder / f"rows.svm.{suffix}"
    path.write_bytes(data)
    options = {"format": "svmlight", "n_jobs": 1, "block_bytes": rng.choice([7, 100, 1 << 16])}
    got = linsep.read(path, **options)
    expected = by_line(b"".join(members), lambda line: svmlight_row(line, np.float64))
    assert got.y.tolist() == expected.labels
    found = check_damaged(rng, path, lambda path: linsep.read(path, **options), data)
    cut_between_members = path.read_bytes() in [b"".join(packed[:k]) for k in range(len(packed))]
    if found is not None and suffix != "zst" and not cut_between_members:
        assert (found.y.tolist(), found.X.toarray().tolist()) == (got.y.tolist(), got.X.toarray().tolist()), (
            "other rows"
        )
    return path.read_bytes(), got


CHECKS = {
    "svmlight": check_svmlight, "vw": check_vw, "text": check_text, "csv": check_csv,
    "parquet": table_check("parquet", write_parquet), "arrow": table_check("arrow", write_arrow),
    "feather": table_check("feather", write_feather), "npz": check_npz, "compressed": check_compressed,
}  # fmt: skip


class Outcome(NamedTuple):
    """What came of the inputs of a format."""

    inputs: int
    rows: int
    malformed: int
    seconds: float
    failures: list


def run(format, seed, first, inputs, most_failures=10):
    """Check inputs number `first` and the following ones of a format."""
    began, rows, malformed, failures = time.monotonic(), 0, 0, []
    with TemporaryDirectory() as name:
        for k in range(first, first + inputs):
            try:
                _, got = CHECKS[format](random.Random(f"{seed} {format} {k}"), Path(name))
                rows += 0 if got is None else len(got)
                malformed += 0 if got is None else got.rejected
            except Exception as error:
                failures.append((k, f"{type(error).__name__}: {error}".splitlines()[0][:300]))
                if len(failures) == most_failures:
                    break
    return Outcome(inputs, rows, malformed, time.monotonic() - began, failures)
