"""The table of the notes and their figures, with titles and captions; importing it does not import numpy."""

from typing import NamedTuple

NOTES = {
    "000": "separators, the perceptron and Winnow",
    "001": "linear predictors",
    "002": "logistic regression, and the perceptron's mistakes",
    "003": "the perceptron's geometry",
    "004": "Winnow, and estimating probabilities",
}
"""The lecture notes by number, and what they are about."""


class Entry(NamedTuple):
    """A figure of the notes."""

    note: str
    """The number of its note."""
    place: str
    """Its place in the note."""
    title: str
    caption: str
    """A description in one sentence."""
    size: tuple[float, float]
    """Width and height in inches."""
    panels: bool = False
    """If True, it has several panels and takes a figure instead of axes."""
    solid: bool = False
    """If True, its axes have three dimensions."""


FIGURES = {
    "dichotomies": Entry(
        "000", "separation happens", "How many labellings a hyperplane separates",
        "Up to 2 points a dimension, half of all labellings or more are separable, and the more dimensions there are, "
        "the more suddenly that ends; dots are measured by linear programs, lines are Cover's formula.", (5.2, 4.2),
    ),
    "winnow_bound": Entry(
        "000", "what value for η", "Winnow's bound on its mistakes, by its rate",
        "The bound is least at η*\xa0=\xa0½\xa0ln((1+δ)/(1−δ)), grows on both sides of it, and beyond the second zero "
        "of L(η) there is none.", (5.2, 4.2),
    ),
    "feature_race": Entry(
        "000", "perceptron or Winnow", "Perceptron against Winnow as features are added",
        "Rows are drawn at random, and the majority of 5 among N features is their label: Winnow pays for the other "
        "features by ln\xa0N, the perceptron by N.", (5.8, 5.2), panels=True,
    ),
    "turned_labels": Entry(
        "000", "rows that no line separates", "The Delta-trick bound as labels turn wrong",
        "Rows are drawn at random, and a hyperplane separates them until their labels are turned round: the bound "
        "stays above the mistakes, separable or not.", (5.8, 5.2), panels=True,
    ),
    "losses": Entry(
        "001", "surrogate loss", "The 0-1 loss, and losses that can be minimised",
        "The 0-1 loss is flat with a jump, so no gradient leads down; the logistic loss is smooth and convex, and "
        "divided by ln 2 it is never below the 0-1 loss.", (5.2, 4.2),
    ),
    "sigmoid_surface": Entry(
        "002", "a soft linear classifier", "Logistic regression over two kinds of iris",
        "The probability of a class is a sigmoid across the boundary and constant along it; points are flowers, at 0 "
        "or 1 by their kind.", (5.2, 4.6), solid=True,
    ),
    "ascent_paths": Entry(
        "002", "stochastic against batch", "Two ways up the likelihood",
        "A batch step reads every row and climbs straight; a stochastic step reads one row, so its path is noisier, "
        "though each step is that much cheaper.", (5.2, 4.6),
    ),
    "mistake_regions": Entry(
        "002", "after one and two examples", "Where the next mistake can lie, and what it does to v",
        "For any example that v₁ mistakes, the step to v₂ goes up along u by at least γ, since no example "
        "lies in the band of the margin.", (10.6, 8.0), panels=True,
    ),
    "cosines": Entry(
        "002", "another observation", "“Up” is not “converging”",
        "Each mistake raises v·u by γ at least, yet the angle between v and u widens at some of them: their cosine "
        "falls.", (5.2, 5.0), panels=True,
    ),
    "guess_table": Entry(
        "002", "on-line to batch", "Ten rounds of the perceptron, hypothesis by hypothesis",
        "A guess counts for every row it was used on, the one it failed on included; the note names only guesses and "
        "results, so the rows here are a reconstruction that gives the same ones.", (5.2, 5.4),
    ),
    "constant_dimension": Entry(
        "003", "absorbing the bias", "Separable through the origin, by a constant dimension",
        "Left, no hyperplane through the origin has one class on each side; right, the same points lifted to 1 in a "
        "new dimension have one.", (9.0, 7.6), panels=True,
    ),
    "update": Entry(
        "003", "geometric intuition", "One update of the perceptron",
        "The hyperplane of w has one square and one circle on the wrong side; the square x, of label −1, is subtracted "
        "from w, and the new hyperplane has none.", (10.6, 4.3), panels=True,
    ),
    "unit_sphere": Entry(
        "003", "perceptron convergence", "The unit sphere and the margin γ",
        "All points lie within the unit sphere and the unit vector w* on it; γ is the distance from its hyperplane to "
        "the closest point, and 1/γ² bounds the mistakes.", (5.2, 5.4),
    ),
    "chord": Entry(
        "004", "figure 1", "The chord above the exponential",
        "e^(ηA) is convex, so between −1 and 1 it lies below the chord (1+A)/2·e^η + (1−A)/2·e^(−η); beyond, "
        "above.", (5.2, 4.2),
    ),
    "line_fit": Entry(
        "004", "figure 2", "A line fitted by least squares",
        "Of all lines through the origin, that of slope w = Σxy / Σx² has the least sum of squared distances up or "
        "down to the points.", (5.2, 4.2),
    ),
}  # fmt: skip
"""The figures by the names of their functions, in the notes' order."""


def words(name: str) -> str:
    """Return the text below a figure's title: its note, its place there, and its caption.

    >>> words("chord").partition(":")[0]
    'Note 004, figure 1'
    """
    entry = FIGURES[name]
    return f"Note {entry.note}, {entry.place}: {entry.caption[0].lower()}{entry.caption[1:]}"
