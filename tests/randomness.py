"""Randomness for tests: repeatable, absent, or word by word."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from dpgeo.privacy.randomness import RandomWords


class SeededEntropy:
    """Streams that differ from each other and repeat from run to run."""

    def __init__(self, seed: int) -> None:
        self._seeds = np.random.SeedSequence(seed)

    def stream(self) -> SeededWords:
        """The next stream of this seed."""
        return SeededWords(self._seeds.spawn(1)[0])


class SeededWords:
    """Words of a pseudo-random generator that is good for statistics and not secret."""

    def __init__(self, seed: int | np.random.SeedSequence) -> None:
        self._generator = np.random.SFC64(seed)

    def words(self, count: int) -> NDArray[np.uint64]:
        """The next `count` words."""
        return np.asarray(self._generator.random_raw(count), dtype=np.uint64)


class ZeroNoise:
    """Entropy under which every draw of noise is 0, to see what a mechanism does without it."""

    def stream(self) -> ZeroWords:
        """A stream of zeros: the least real number, hence the first outcome of every table."""
        return ZeroWords()


class ZeroWords:
    """Words that are all zero."""

    def words(self, count: int) -> NDArray[np.uint64]:
        """`count` zeros."""
        return np.zeros(count, dtype=np.uint64)


@dataclass
class CraftedWords:
    """Exactly these words, in this order; asking for more is an error."""

    remaining: list[int]

    def words(self, count: int) -> NDArray[np.uint64]:
        """The next `count` of the words given."""
        assert count <= len(self.remaining), "More words were drawn than the test foresaw."
        taken, self.remaining = self.remaining[:count], self.remaining[count:]
        return np.array(taken, dtype=np.uint64)


@dataclass
class CountingEntropy:
    """Counts the streams that are opened, to show that a refusal came before any draw."""

    inner: SeededEntropy | ZeroNoise = field(default_factory=ZeroNoise)
    opened: int = 0

    def stream(self) -> RandomWords:
        """A stream of the inner entropy."""
        self.opened += 1
        return self.inner.stream()
