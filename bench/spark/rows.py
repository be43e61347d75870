"""usage: rows.py FOLDER ROWS [SEED]    text-like rows of two classes as Parquet, in a form that Spark reads as a vector column

About 75 of 47,236 features a row, with the popularity of words (Zipf's law, from the thirtieth word on), weighted by how often and in
how few rows they stand, of length 1, with five digits. A tenth of the words matter; a row is of one of two kinds, and each
kind likes the words of its sign. The label is the side of the planted hyperplane, and one in twenty is turned over.
"""

import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

WORDS, LENGTH, SPREAD, TILT, TURNED = 47_236, 75, 0.55, 1.2, 0.05
AT_ONCE = 50_000


class Text:
    """Words, how popular they are with each kind of row, and which matter."""

    def __init__(self, random):
        popularity = 1 / (np.arange(WORDS) + 31.0) ** 1.05
        self.places = random.permutation(WORDS)
        self.planted = random.standard_normal(WORDS) * (random.random(WORDS) < 0.1)
        self.ladders = []
        for sign in (-1, 1):
            liked = np.cumsum(popularity * np.exp(TILT * sign * self.planted[self.places]))
            self.ladders.append(liked / liked[-1])
        self.rarity = self.middle = None

    def rows(self, random, count):
        """Labels, offsets, indices and values of so many rows."""
        drawn = random.lognormal(np.log(LENGTH) - SPREAD**2 / 2, SPREAD, count)
        drawn = np.round(1.035 * np.clip(drawn, 4, 600)).astype(np.int64)
        row = np.repeat(np.arange(count), drawn)
        kind, at = (random.random(count) < 0.5)[row], random.random(len(row))
        word = np.empty(len(row), np.int64)
        for of, ladder in zip((False, True), self.ladders):
            word[kind == of] = np.minimum(np.searchsorted(ladder, at[kind == of], side="right"), WORDS - 1)
        cells, times = np.unique(row * WORDS + self.places[word], return_counts=True)
        row, word = cells // WORDS, cells % WORDS
        if self.rarity is None:
            self.rarity = np.log(count / np.maximum(np.bincount(word, minlength=WORDS), 1.0))
        value = (1 + np.log(times)) * self.rarity[word]
        value /= np.sqrt(np.bincount(row, value * value, minlength=count))[row]
        value = np.maximum(np.round(value, 5), 1e-5)
        score = np.bincount(row, value * self.planted[word], minlength=count)
        if self.middle is None:
            self.middle = np.median(score)
        label = (score > self.middle) ^ (random.random(count) < TURNED)
        offsets = np.concatenate(([0], np.cumsum(np.bincount(row, minlength=count))))
        return label.astype(float), offsets.astype(np.int32), word.astype(np.int32), value


def write(folder, count, seed=1):
    """Writes the rows, a file for every 50,000."""
    folder.mkdir(parents=True)
    random = np.random.default_rng(seed)
    text = Text(random)
    for number, begin in enumerate(range(0, count, AT_ONCE)):
        some = min(AT_ONCE, count - begin)
        label, offsets, indices, values = text.rows(random, some)
        parts = [
            pa.array(np.zeros(some, np.int8)),
            pa.array(np.full(some, 1 << 16, np.int32)),
            pa.ListArray.from_arrays(offsets, indices),
            pa.ListArray.from_arrays(offsets, values),
        ]
        vector = pa.StructArray.from_arrays(parts, ["type", "size", "indices", "values"])
        pq.write_table(pa.table({"label": label, "features": vector}), folder / f"{number:05}.parquet")


if __name__ == "__main__":
    write(Path(sys.argv[1]), int(sys.argv[2]), *map(int, sys.argv[3:]))
