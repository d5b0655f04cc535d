"""The names of a table's columns where documents are among them: numbers, hashed n-grams, words."""

from collections.abc import Sequence

from linsep.data.text.hashed_names import LazyNames


class TableNames(LazyNames):
    """Names of numbers, then of the hashed n-grams of a column of documents, then of words.

    >>> names = TableNames(["age"], "review", 1000, ["city=Oslo"])
    >>> names[0], names[1], names[1000], names[1001], len(names)
    ('age', 'review#0', 'review#999', 'city=Oslo', 1002)
    """

    hashed = True

    def __init__(self, numbers: Sequence[str], text: str, text_features: int, words: Sequence[str]) -> None:
        self.numbers, self.text, self.text_features, self.words = numbers, text, text_features, words

    def __len__(self) -> int:
        return len(self.numbers) + self.text_features + len(self.words)

    def name(self, column: int) -> str:
        """Return the name of a column."""
        if column < len(self.numbers):
            return self.numbers[column]
        column -= len(self.numbers)
        return f"{self.text}#{column}" if column < self.text_features else self.words[column - self.text_features]
