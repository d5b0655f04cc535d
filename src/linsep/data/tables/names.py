"""The names of a table's columns where some are hashed: numbers, n-grams of documents, words."""

from collections.abc import Iterator, Sequence

from linsep.data.text.hashed_names import HashedNames, LazyNames


class TableNames(LazyNames):
    """Names of numbers, then of the hashed n-grams of a column of documents, then of words.

    Words that are hashed are given by how many columns they have. What is hashed has the names that were seen, if these
    are kept, joined where they collide; an n-gram `text#` and its number else, and a word `#` and its column.

    >>> names = TableNames(["age"], "review", 1000, ["city=Oslo"])
    >>> names[0], names[1], names[1000], names[1001], len(names)
    ('age', 'review#0', 'review#999', 'city=Oslo', 1002)
    """

    def __init__(
        self, numbers: Sequence[str], text: str | None, text_features: int, words: Sequence[str] | int,
        seen: HashedNames | None = None,
    ) -> None:  # fmt: skip
        self.numbers, self.text, self.words, self.seen = numbers, text, words, seen
        self.first_word = len(numbers) + (0 if text is None else text_features)
        self.hashed = self.first_word > len(numbers) or isinstance(words, int)

    def __len__(self) -> int:
        return self.first_word + (self.words if isinstance(self.words, int) else len(self.words))

    def __iter__(self) -> Iterator[str]:
        kept = frozenset() if self.seen is None else self.seen.columns()
        return (self.name(column) if column in kept else self._plain(column) for column in range(len(self)))

    def name(self, column: int) -> str:
        """Return the name of a column."""
        return " / ".join(self.of(column)) or self._plain(column)

    def of(self, column: int) -> list[str]:
        """Return the names of a hashed column that were seen, in the order in which they were."""
        return [] if self.seen is None else self.seen.of(column)

    @property
    def collisions(self) -> int:
        """How many columns have more than one name."""
        return 0 if self.seen is None else self.seen.collisions

    def _plain(self, column: int) -> str:
        """Return the name of a column, if it is hashed and none was seen."""
        if column < len(self.numbers):
            return self.numbers[column]
        if column < self.first_word:
            return f"{self.text}#{column - len(self.numbers)}"
        return f"#{column}" if isinstance(self.words, int) else self.words[column - self.first_word]
