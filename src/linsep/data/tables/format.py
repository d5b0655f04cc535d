"""Tables to rows: CSV, TSV, Parquet and Arrow files, and tables in memory.

Columns of numbers stay as they are and come first, in the order of the table. A column of documents becomes columns of
hashed n-grams, unless these are numbered along with words. Words, booleans and dictionaries become a column for each
`column=value`, numbered as they are first seen or hashed, in which a row has a 1; these come last, as they may grow.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any, Self

import numpy as np

from linsep.data.blocks import BLOCK_BYTES
from linsep.data.errors import DataError, ErrorPolicy, is_one_of, quote
from linsep.data.format import Format, ReadPass, flag, refuse_other_types, whole
from linsep.data.names import HashedNames, TableNames, Vocabulary, VocabularyNames
from linsep.data.rows import Rows, Spelling
from linsep.data.sources import Source
from linsep.data.splitting import Splitter, newlines
from linsep.data.tables.cells import (
    FEWEST_DOCUMENTS,
    CellError,
    Cells,
    names_in_order,
    numbers_and_words,
    with_documents,
    with_numbered,
)
from linsep.data.tables.csv import Text, beginning, no_names, text_parts, text_splitter
from linsep.data.tables.plan import (
    NUMBER,
    TRUTH,
    WORDS,
    ColumnPlan,
    Documents,
    Roles,
    Schema,
    choose_roles,
    list_columns,
    resolve_columns,
)
from linsep.data.tables.record_batches import Records, open_records, record_splitter, records_before
from linsep.data.text.ngrams import LARGEST, Counts, Frequencies, Grams, to_unit
from linsep.data.text.transformers import TextHasher, grams_of
from linsep.engine.arrays import Array
from linsep.engine.runtime import in_order
from linsep.validation.errors import ParameterError

DELIMITERS = {"csv": ",", "tsv": "\t"}
CHOICES = {"categories": ("indexed", "hashed"), "missing": ("error", "zero", "indicator")}
OF_TEXT = ("text_features", "vocabulary", "idf", "ngram_range", "analyzer", "binary", "lowercase")
"""Options of how documents are read."""
DEFAULT_FEATURES = TEXT_FEATURES = 1 << 20
NONE, UNSEEN = -1, -2
"""Columns of words that are missing, and of those that earlier data did not have."""
NEW = "does not occur in the data that these are read like"
CHANGED = "is new: the data have changed since the first scan"


@dataclass
class Table(Format):
    r"""The format of a table: its options, and the detected properties of its columns.

    Parameters
    ----------
    label : str, int or None
        The column of the labels, by name or number; None if there is none. By default the one column that is called
        label, target, y or class.
    weight : str or int, optional
        The column of the rows' weights.
    columns : list of str or int, optional
        The columns that are features, by name or number; by default all others.
    ignore : list of str or int
        Columns that are left out.
    words : list of str or int
        Columns whose values are words even if they look like numbers; the labels may be among them.
    categories : {"indexed", "hashed"}
        "indexed": each `column=value` gets a number when it is first seen. "hashed": it is hashed.
    n_features : int, optional
        The columns that values are hashed to, which come after all others; 2**20 by default.
    keep_names : bool
        If True, keep the names of hashed words and n-grams, so that `feature_names` can name each column.
    missing : {"error", "zero", "indicator"}
        Treatment of a cell without a value: a fault of its row; 0, no word, or an empty document; or that, and a 1 in a
        column `column=`.
    header : bool, optional
        If True, text files begin with the names of the columns; these are "0", "1" and so on otherwise. By default they
        do, and names that are all numbers are refused.
    delimiter : str, optional
        Separator of the fields of text files, if it is neither the comma of CSV nor the tab of TSV.
    text : str, optional
        The column of documents, which become columns of hashed n-grams, `text#0` and so on: after those of the numbers,
        and before those of words. The n-grams of a document have length 1 together.
    text_features : int
        The columns that n-grams are hashed to.
    vocabulary : bool
        If True, n-grams get columns of their own instead, `text:n-gram`. They are numbered along with words: as they
        are first seen, those of a row after its words.
    idf : bool
        If True, counts of n-grams are multiplied with ln((1 + rows) / (1 + rows with the n-gram)) + 1 before documents
        get their length. That of data that are read like others is the length of what those had, too.
    ngram_range, analyzer, binary, lowercase
        The n-grams that count, as in TextHasher.

    Notes
    -----
    What a column of a text file holds is decided by the first block of text: words, if more than half of the cells that
    are not missing are no numbers. Labels are bool where the type of their column is: in a text file, true is a word.
    From a source that can be read only once, words get their columns as they come: later blocks of a stream are wider.

    Attributes
    ----------
    found : Roles, or None
        Use of each column, once it is known.
    unseen : int
        Words and n-grams of the last pass that the table this one is like did not have; they count for nothing.
    extra : list of str
        Columns that the table this one is like did not have; they are left out.

    Examples
    --------
    >>> from io import BytesIO
    >>> from linsep.data.blocks import Clock
    >>> table, source = Csv(), [Source("people.csv", BytesIO(b"age,city,label\n31,Oslo,1\n27,Rome,0\n"))]
    >>> [rows] = table.parts(ReadPass(source, np.float64, ErrorPolicy(), Clock(source, None), 1, 1000))
    >>> table.feature_names, rows.indices, rows.values
    (['age', 'city=Oslo', 'city=Rome'], array([0, 1, 0, 2], dtype=int32), array([31.,  1., 27.,  1.]))
    """

    label: str | int | None = ""
    weight: str | int | None = None
    columns: list[Any] | None = None
    ignore: list[Any] = field(default_factory=list)
    words: list[Any] = field(default_factory=list)
    categories: str = "indexed"
    n_features: int | None = None
    keep_names: bool = False
    missing: str = "error"
    header: bool | None = None
    delimiter: str | None = None
    text: str | None = None
    text_features: int = TEXT_FEATURES
    vocabulary: bool = False
    idf: bool = False
    ngram_range: tuple[int, int] = (1, 1)
    analyzer: str = "word"
    binary: bool = False
    lowercase: bool = True
    found: Roles | None = field(default=None, init=False)
    fixed: bool = field(default=False, init=False)
    complete: bool = field(default=False, init=False)
    grows: bool = field(default=False, init=False)
    extra: list[str] = field(default_factory=list, init=False)

    def __post_init__(self) -> None:
        for name, choices in CHOICES.items():
            if not is_one_of(getattr(self, name), choices):
                raise ParameterError(f"{name}={getattr(self, name)!r}: it is one of {', '.join(map(repr, choices))}")
        for name in ("label", "weight"):
            setattr(self, name, None if getattr(self, name) is None else _column(name, getattr(self, name)))
        self.columns = None if self.columns is None else _several("columns", self.columns)
        if self.columns == []:
            raise ParameterError("columns=[]: name at least one column, or omit columns")
        self.ignore, self.words = _several("ignore", self.ignore), _several("words", self.words)
        if self.text is not None and not isinstance(self.text, str):
            raise ParameterError(f"text={self.text!r}: it is the name of a column, or None")
        if self.categories == "hashed":
            self.n_features = whole("n_features", DEFAULT_FEATURES if self.n_features is None else self.n_features)
        elif self.n_features is not None:
            raise ParameterError(
                "n_features= is the number of columns that words are hashed to: add categories='hashed'"
            )
        self.header = flag("header", self.header, none=True)
        for name in ("keep_names", "vocabulary", "idf", "binary", "lowercase"):
            setattr(self, name, flag(name, getattr(self, name)))
        if self.delimiter is not None and not _separates(self.delimiter):
            raise ParameterError(
                f"delimiter={self.delimiter!r}: it is one ASCII character, and neither a quote nor a newline"
            )
        self.text_features = whole("text_features", self.text_features, most=LARGEST - 1)
        self._grams = self._grams_of_text()
        if self.vocabulary and (self.keep_names or self.n_features is not None or self.text_features != TEXT_FEATURES):
            raise ParameterError(
                "with vocabulary=True every n-gram has a column, as every word has: "
                "leave out categories='hashed', text_features and keep_names"
            )
        if self.keep_names and self.text is None and self.n_features is None:
            raise ParameterError("keep_names= keeps the names of hashed columns: add categories='hashed' or text=")
        self._vocabulary, self._seen, self._frequencies = Vocabulary(), HashedNames(0), Frequencies()
        self._looked_for_documents = False

    def _grams_of_text(self) -> Grams:
        """Return which n-grams of documents count; raises where an option is impossible or has no effect."""
        how = TextHasher(self.text_features, self.ngram_range, self.analyzer, self.binary, lowercase=self.lowercase)
        grams = grams_of(how, self.text_features, signed=True)
        self.ngram_range = (grams.low, grams.high)
        for option in fields(self):
            if self.text is None and option.name in OF_TEXT and getattr(self, option.name) != option.default:
                raise ParameterError(f"{option.name}= is an option of documents: name their column with text=")
        return grams._replace(unit=not self.idf)

    def for_part(self) -> Self:
        """Return a copy that counts for itself."""
        table = super().for_part()
        table.extra = list(self.extra)
        return table

    def like(self, seen: Callable[[], Array], strict: bool) -> Format:
        """Return how other data are read to the same columns, matched by name; what is new is left out or refused.

        The labels and the weights may be absent.
        """
        if self.found is None:
            raise ParameterError("nothing has been read yet that other data could be like")
        hashed = self._hashed_grams or (self._has_words and self.n_features is not None)
        table = self._like(seen if hashed else lambda: np.ones(self.width, bool), strict)
        table.fixed = table.complete = True
        table.grows = False
        return table

    def state(self) -> dict[str, Any]:
        """Return all that is needed to read other data to the same columns, ready for JSON."""
        found = None if self.found is None else self.found._asdict()
        more = {"found": found, "names": self._vocabulary.names(), "seen": self._seen.state(), "extra": []}
        return super().state() | more | {"frequencies": self._frequencies.state()}

    @classmethod
    def restored(cls, state: dict[str, Any]) -> Self:
        """Return what a state was taken from."""
        if state.get("columns") == []:  # models of earlier versions, which read all columns
            state = {**state, "columns": None}
        table = super().restored(state)
        if state["found"] is not None:
            refuse_other_types(state["found"], Roles)
            table.found = Roles(**state["found"])
        table._vocabulary = Vocabulary.of(state["names"])
        table._seen.restore(state["seen"])
        table._frequencies = Frequencies.restored(state["frequencies"], table._weights)
        return table

    @property
    def sparse(self) -> bool:
        """Return whether rows are sparse: they have words, documents, or indicators of missing numbers."""
        return self.found is not None and (self._has_words or self.text is not None)

    @property
    def _has_words(self) -> bool:
        """Return whether there are columns of words, or of indicators."""
        return self.found is not None and (bool(self.found.words) or self.missing == "indicator")

    @property
    def _first_word(self) -> int:
        """The first column of words."""
        numbers = 0 if self.found is None else len(self.found.numbers)
        return numbers + self._hashed_grams

    @property
    def _hashed_grams(self) -> int:
        """Return the number of columns that n-grams are hashed to."""
        return 0 if self.text is None or self.vocabulary else self.text_features

    @property
    def _weights(self) -> int:
        """Return the number of columns after those of numbers that may be n-grams with weights."""
        return 0 if not self.idf else len(self._vocabulary) if self.vocabulary else self.text_features

    @property
    def _numbered_names(self) -> bool:
        """Return whether columns are numbered in the order of first sight."""
        return self.vocabulary or (self._has_words and self.n_features is None)

    @property
    def _keeps(self) -> bool:
        """Return whether the names of hashed columns are kept; with `like=`, the names of the other data hold."""
        return self.keep_names and not self.fixed

    @property
    def settled(self) -> bool:
        """Return whether columns and weights are known before all rows have been read, or columns may grow."""
        return self.complete or (self.found is not None and not self._numbered_names and not self.idf)

    @property
    def width(self) -> int:
        """The number of features, as far as is known."""
        if self.found is None:
            return 0
        hashed = self.n_features if self._has_words and self.n_features is not None else 0
        return self._first_word + (len(self._vocabulary) if self._numbered_names else hashed)

    @property
    def feature_names(self) -> Sequence[str] | None:
        """The names of the features, as far as they are known; None where words are hashed, unless names are kept."""
        hashed = self._has_words and self.n_features is not None
        if self.found is None or (hashed and not self.keep_names):
            return None
        if self.text is None and not hashed:
            return [*self.found.numbers, *self._vocabulary.names()]
        words = self.n_features if hashed else VocabularyNames(self._vocabulary, len(self._vocabulary))
        assert words is not None
        return TableNames(self.found.numbers, self.text, self._hashed_grams, words, self._seen)

    def column_of(self, name: str) -> int | None:
        """Return the column of a feature such as `age`, `review#7` or `city=Paris`; None if there is none."""
        numbers = [] if self.found is None else self.found.numbers
        if name in numbers:
            return numbers.index(name)
        if self._hashed_grams and self._like_grams([name]) and not self._like_grams(self._all_columns):
            gram = Vocabulary.of([name.removeprefix(f"{self.text}:")])
            return len(numbers) + int(gram.hashed_columns(self.text_features)[0][0])
        begin, mark, number = name.rpartition("#")
        if mark and begin == self.text and number.isdecimal() and int(number) < self._hashed_grams:
            return len(numbers) + int(number)
        spelling = name.encode()
        column = int(self._number(Spelling(np.frombuffer(spelling, np.uint8), np.array([0, len(spelling)])), False)[0])
        return None if column < 0 else self._first_word + column

    @property
    def _all_columns(self) -> list[str]:
        """All columns of numbers and words."""
        return [] if self.found is None else [*self.found.numbers, *self.found.words]

    def _like_grams(self, names: list[str]) -> list[str]:
        """Return the names that begin as those of n-grams do."""
        return [name for name in names if self.text is not None and name.startswith(f"{self.text}:")]

    def for_format(self, name: str, file: str) -> Format:
        """Return this form for a table in another format: columns are matched by their names."""
        if name not in FORMATS:
            return super().for_format(name, file)
        table = FORMATS[name].restored(self.state())
        table.known = self.known
        return table

    def sniff(self, sources: list[Source]) -> None:
        """Decide from the first rows what the columns are for."""
        if self.found is None and all(source.rereadable for source in sources):
            next((plan for _, plan in self._tasks(sources, BLOCK_BYTES) if plan is not None), None)

    def splitter(self, source: Source) -> Splitter:
        """Return where a file can be cut: between rows of text, row groups or record batches."""
        if self.name not in DELIMITERS:
            return record_splitter(source, self.name)
        if source.packed:
            return super().splitter(source)
        names, begin = beginning(source, *self._dialect)
        if self.found is not None:  # files without rows have names, too
            self._plan(source.name, names, None)
        return text_splitter(source, self._dialect[0], begin)

    def lines_before(self, source: Source) -> int:
        """Return how many lines, or rows, a file has before the part of it that is read."""
        if source.span is None:
            return 0
        return newlines(source.name, source.span[0]) if self.name in DELIMITERS else records_before(source, self.name)

    @property
    def _dialect(self) -> tuple[str, bool | None]:
        """Detect the separator of a text file, and whether its first line has names."""
        return self.delimiter or DELIMITERS[self.name], True if self.fixed and self.header is None else self.header

    def read_once(self) -> None:
        """Let the columns of words grow; weights that need all rows can't be had."""
        if self.idf and not self.fixed:
            raise ParameterError("idf=True takes two passes: write the table to a file first")
        self.complete, self.grows = True, not self.fixed

    def draft(self, rows: Rows) -> Rows | None:
        """Return rows as `finish` gives them, if all weights are known."""
        if not self.idf:
            return rows
        return self.finish(replace(rows, values=rows.values.copy())) if self.complete else None

    def finish(self, rows: Rows) -> Rows:
        """Weigh the counts of n-grams in place, and give documents the length 1."""
        if not self.idf or rows.indptr is None or rows.indices is None or self.found is None:
            return rows
        columns = rows.indices - len(self.found.numbers)
        grams = (columns >= 0) & (columns < self._weights)
        if self.vocabulary:  # words were never counted
            grams[grams] = self._frequencies.counts[columns[grams]] > 0
        indptr, values = np.concatenate([[0], np.cumsum(grams)])[rows.indptr], rows.values[grams]
        self._frequencies.weigh(indptr, columns[grams], values, unit=True)
        rows.values[grams] = values
        return rows

    def none(self, dtype: Any) -> Rows:
        """Return no rows."""
        kind = NUMBER if self.found is None or self.fixed else self.found.label_kind  # others may lack the labels
        labels: Array = np.empty(0, {WORDS: np.str_, TRUTH: np.bool_}.get(kind, np.float64))
        places = np.empty(0, np.int64)
        if self.sparse:
            return Rows(labels, np.zeros(1, np.int64), np.empty(0, np.int32), np.empty(0, dtype), places, 0)
        return Rows(labels, None, None, np.empty((0, self.width), dtype), places, 0)

    def parts(self, job: ReadPass) -> Iterator[Rows]:
        """Yield the rows of all sources in parts.

        The policy handles malformed rows; where it raises, nothing of their part is learned or counted.
        """
        sources, dtype, policy, clock, jobs, block_bytes = job
        self.unseen, line = 0, 1

        def work(task: CellsTask) -> tuple[Text | Records, Cells | None]:
            part, plan = task
            return part, None if plan is None else part.cells(plan, dtype)

        for part, cells in in_order(work, self._tasks(sources, block_bytes), jobs):
            line = 1 if part.first else line
            if cells is not None:
                rows = self._rows(part, cells, policy, line)
                clock.tick(part.done, len(rows))
                yield rows
            line += part.lines
        self.complete = True

    def _tasks(self, sources: list[Source], block_bytes: int) -> Iterator["CellsTask"]:
        """Yield the parts of all sources with what their columns are for, which is None if there are no rows."""
        for source in sources:
            if source.table and self.name != InMemory.name:
                raise DataError(source.name, f"it is a table in memory, and not {self.name}: leave out format=")
        return self._text_tasks(sources, block_bytes) if self.name in DELIMITERS else self._record_tasks(sources)

    def _text_tasks(self, sources: list[Source], block_bytes: int) -> Iterator["CellsTask"]:
        plan: ColumnPlan | None = None
        unchecked: list[tuple[str, list[str]]] = []
        for text in text_parts(sources, *self._dialect, block_bytes):
            if text.first:
                unchecked.append((text.file, text.names))
                chosen = False
            if not chosen and text.has_rows:
                plan, chosen = self._plan(text.file, text.names, text), True
            while unchecked and self.found is not None:  # files without rows have names, too
                self._plan(*unchecked.pop(0), None)
            yield text, plan if len(text.text) else None

    def _record_tasks(self, sources: list[Source]) -> Iterator["CellsTask"]:
        before = 0
        for source in sources:
            with open_records(source, self.name) as records:
                plan = self._plan(source.name, records.schema.names, records.schema)
                for part in records.parts(plan, before):
                    yield part, plan
            before += source.size or 0 if source.handle is None else 0

    def _plan(self, file: str, names: list[str], schema: Schema | None) -> ColumnPlan:
        """Return what the columns of a file are for; the first schema decides, and later files must agree."""
        there = set(names)
        if len(there) < len(names):
            twice = next(name for name, count in Counter(names).items() if count > 1)
            raise DataError(file, f"there are two columns called {twice!r}")
        if self.found is None:
            self.columns = None if self.columns is None else resolve_columns(self.columns, file, names)
            self.ignore, self.words = (resolve_columns(some, file, names) for some in (self.ignore, self.words))
            assert schema is not None
            found = choose_roles(file, schema, self)
            alike = self._like_grams([*found.numbers, *found.words]) if self.vocabulary else []
            if alike:
                reason = f"column {alike[0]!r} is called as n-grams of column {self.text!r} are"
                raise DataError(file, f"{reason}: give it another name, or leave it out with ignore=[{alike[0]!r}]")
            self.found = found
        numbers, words, label, label_kind, weight = self.found
        if self.fixed:
            label, weight = (name if name in there else None for name in (label, weight))
        documents = None if self.text is None else Documents(self.text, self._grams, self._keeps, self.vocabulary)
        kind = NUMBER if label is None else label_kind
        plan = ColumnPlan(tuple(numbers), tuple(words), label, kind, weight, self.missing, documents, self.fixed)
        lost = [name for name in plan.columns if name not in there]
        if lost:
            hint = "; its first line holds numbers, and no names" if self._lacks_names(names) else ""
            which = "training data" if self.fixed else "other data"
            raise DataError(
                file, f"there is no column {lost[0]!r}, which the {which} have; {list_columns(names)}{hint}"
            )
        left_out = {*plan.columns, *self.ignore, self.found.label, self.found.weight}
        extra = [] if self.columns is not None else [name for name in names if name not in left_out]
        if extra and not self.fixed:
            raise DataError(file, f"the other data have no column {extra[0]!r}: choose the columns with columns=[...]")
        self.extra += [name for name in extra if name not in self.extra]
        return plan

    def _lacks_names(self, names: list[str]) -> bool:
        """Return whether a text file that should begin with names begins with numbers."""
        return self.name in DELIMITERS and self.header is not False and no_names(names)

    def _rows(self, part: Text | Records, cells: Cells, policy: ErrorPolicy, line: int) -> Rows:
        """Return the rows of a part, after the policy has handled the malformed ones."""
        troubles, words = cells.troubles, None
        if self.complete and not self.grows:
            cells, words = self._columns(cells, grow=False)
            new = self._new(cells, words) if self.strict or not self.fixed else []
            if new:
                keep = np.ones(len(cells), bool)
                keep[np.searchsorted(cells.origin, [trouble.row for trouble in new])] = False
                cells, words = cells.take(keep), [column[keep] for column in words]
                troubles = sorted([*troubles, *new], key=lambda trouble: trouble.row)
        policy.take(part.faults(troubles), part.file, line)
        places = part.places(cells)
        labels, values, weights = cells.labels, cells.values, cells.weights
        if not self.sparse:
            return Rows(labels, None, None, values, places, part.lines, weights=weights)
        if words is None:
            self._refuse_documents(part.file, cells)
            cells, words = self._columns(cells, grow=True)
            self._keep_grams(cells)
        if self.idf and not self.complete and cells.documents is not None:
            self._frequencies.widen(self._weights)
            self._frequencies.see(len(cells), cells.documents.indices)
        return Rows(labels, *self._sparse(cells, words), places, part.lines, weights=weights)

    def _refuse_documents(self, file: str, cells: Cells) -> None:
        """Raise a DataError if the first rows have a column of documents that would become a category for each row."""
        if self.fixed or self._looked_for_documents or len(cells) < FEWEST_DOCUMENTS:
            return
        self._looked_for_documents = True
        for words in cells.words:
            name = words.column
            if name not in self.words and words.looks_like_documents():
                text = f"text={name!r} reads documents, " if self.text is None else ""
                raise DataError(
                    file,
                    f"column {name!r} has another long text in nearly every row, which would each be a category of "
                    f"its own: {text}ignore=[{name!r}] leaves it out, words=[{name!r}] takes categories all the same",
                )

    def _keep_grams(self, cells: Cells) -> None:
        """Keep the names of hashed n-grams, if these are given."""
        if cells.grams is not None and cells.grams.columns is not None and self.found is not None:
            self._seen.see(cells.grams.spelling, len(self.found.numbers) + cells.grams.columns)

    def _sparse(self, cells: Cells, words: list[Array]) -> tuple[Array, Array, Array]:
        """Return sparse rows; words, given by their columns, and n-grams that are new are counted, and left out."""
        self.unseen += sum(int(np.count_nonzero(column == UNSEEN)) for column in words)
        if cells.documents is None:
            return numbers_and_words(cells.values, words)
        new = self._new_grams(cells.documents)
        self.unseen += int(np.count_nonzero(new))
        documents = cells.documents.without(new)
        if not self.vocabulary:
            return with_documents(cells.values, documents, self.text_features, words)
        if not self.idf:
            to_unit(documents.indptr, documents.values)
        return with_numbered(cells.values, documents, words)

    def _new(self, cells: Cells, words: list[Array]) -> list[CellError]:
        """Return the rows with words or n-grams that earlier data, or these when first read, did not have."""
        found: dict[int, CellError] = {}
        for (name, codes, values), columns in zip(cells.words, words, strict=True):
            for row in np.flatnonzero(columns == UNSEEN).tolist():
                text = quote((values[int(codes[row])].as_py() or "").encode())
                reason = f"{text} in column {name!r} {NEW if self.fixed else CHANGED}"
                found.setdefault(row, CellError(int(cells.origin[row]), name, reason))
        if cells.documents is not None:
            entries = np.flatnonzero(self._new_grams(cells.documents))
            reason = f"an n-gram in column {self.text!r} {NEW if self.fixed else CHANGED}"
            for row in np.unique(np.searchsorted(cells.documents.indptr, entries, "right") - 1).tolist():
                found.setdefault(row, CellError(int(cells.origin[row]), self.text, reason))
        return list(found.values())

    def _new_grams(self, documents: Counts) -> Array:
        """Return which entries are of n-grams that earlier data, or these when first read, did not have."""
        if self.vocabulary:
            return documents.indices < 0
        if self.known is None or self.found is None:
            return np.zeros(len(documents.indices), bool)
        return ~self.known[len(self.found.numbers) + documents.indices]

    def _columns(self, cells: Cells, grow: bool) -> tuple[Cells, list[Array]]:
        """Return the column, counted from the first one of words, of every row's word in each column of words.

        New words are numbered in the order of the rows, and of the columns within a row, wherever parts are cut.
        N-grams that are numbered along with them, after the words of their row, have those numbers in the cells.
        """
        documents = cells.documents if self.vocabulary else None
        spelling = None if documents is None or cells.grams is None else cells.grams.spelling
        firsts = []
        for words in cells.words:
            first = np.full(len(words.values) + 1, len(cells))
            first[words.codes[::-1]] = np.arange(len(cells))[::-1]
            firsts.append(first[:-1])
        if documents is not None and spelling is not None:
            first = np.full(len(spelling.marks) - 1, len(cells))
            first[documents.indices[::-1]] = np.repeat(np.arange(len(cells)), np.diff(documents.indptr))[::-1]
            firsts.append(first)
        used = [np.flatnonzero(first < len(cells)) for first in firsts]
        if not sum(map(len, used)):
            return cells, [np.full(len(cells), NONE)] * len(cells.words)
        sight = np.concatenate([first[some] for first, some in zip(firsts, used, strict=True)])
        order = np.argsort(sight, kind="stable")
        numbered = np.empty(len(order), np.int64)
        numbered[order] = self._number(names_in_order(cells.words, spelling, used, order), grow)
        numbered[numbered == NONE] = UNSEEN
        columns = []
        for words, some in zip(cells.words, used, strict=False):
            table = np.full(len(words.values) + 1, NONE)
            table[some], numbered = numbered[: len(some)], numbered[len(some) :]
            columns.append(table[words.codes])
        if documents is not None and spelling is not None:
            numbers = np.full(len(spelling.marks) - 1, UNSEEN)
            numbers[used[-1]] = numbered
            cells = replace(cells, documents=documents._replace(indices=numbers[documents.indices]))
        return cells, columns

    def _number(self, names: Spelling, grow: bool) -> Array:
        """Return the numbers of names, NONE for those that have none."""
        if self.n_features is None:
            return self._vocabulary.take(names, grow)
        seen = Vocabulary()
        numbers = seen.take(names)
        columns = seen.hashed_columns(self.n_features)[0][numbers]
        if self.known is not None:
            columns[~self.known[self._first_word + columns]] = NONE
        elif grow and self._keeps:
            self._seen.see(names, self._first_word + columns)
        return columns


def _column(name: str, column: Any) -> str | int:
    """Return a column that was given by its name or number."""
    if isinstance(column, str):
        return column
    if isinstance(column, (int, np.integer)) and not isinstance(column, bool):
        return int(column)
    raise ParameterError(f"{name}={column!r}: it is the name or the number of a column")


def _several(name: str, columns: Any) -> list[Any]:
    """Return columns that were given by their names or numbers, or a single one, or None for none, as a list."""
    some = [] if columns is None else [columns] if isinstance(columns, (str, int, np.integer)) else columns
    try:
        if isinstance(some, (bytes, Mapping)):
            raise TypeError
        return [_column(name, column) for column in some]
    except (TypeError, ValueError):
        raise ParameterError(f"{name}={columns!r}: it is a list of names or numbers of columns") from None


def _separates(delimiter: Any) -> bool:
    """Return whether an option can separate fields."""
    return isinstance(delimiter, str) and len(delimiter) == 1 and "\0" < delimiter <= "~" and delimiter not in '"\r\n'


class Csv(Table):
    """Fields between commas."""

    name = "csv"


class Tsv(Table):
    """Fields between tabs."""

    name = "tsv"


class Parquet(Table):
    """Columns in pages of a file."""

    name = "parquet"


class Arrow(Table):
    """Arrow IPC: files, Feather, streams."""

    name = "arrow"


class InMemory(Table):
    """Tables of pandas, polars, pyarrow."""

    name = "table"


FORMATS = {form.name: form for form in (Csv, Tsv, Parquet, Arrow, InMemory)}
CellsTask = tuple[Text | Records, ColumnPlan | None]
