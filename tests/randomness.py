"""Random streams for tests: seeded, zero, or given word by word."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from dpgeo.privacy.randomness import RandomWords


class SeededEntropy:
    """Seeded streams, which differ from each other and are the same in every run."""

    def __init__(self, seed: int) -> None:
        self._seeds = np.random.SeedSequence(seed)

    def stream(self) -> SeededWords:
        """Return the next stream of this seed."""
        return SeededWords(self._seeds.spawn(1)[0])


class SeededWords:
    """Words of a pseudo-random generator, good enough for statistics and not secret."""

    def __init__(self, seed: int | np.random.SeedSequence) -> None:
        self._generator = np.random.SFC64(seed)

    def words(self, count: int) -> NDArray[np.uint64]:
        """Return the next `count` words."""
        return np.asarray(self._generator.random_raw(count), dtype=np.uint64)


class ZeroNoise:
    """Entropy under which every draw of noise is 0, to test mechanisms without noise."""

    def stream(self) -> ZeroWords:
        """Open a stream of zeros, which select the first outcome of every table."""
        return ZeroWords()


class ZeroWords:
    """Words that are all zero."""

    def words(self, count: int) -> NDArray[np.uint64]:
        """Return `count` zeros."""
        return np.zeros(count, dtype=np.uint64)


@dataclass
class CraftedWords:
    """A stream of exactly these words; to request more is an error."""

    remaining: list[int]

    def words(self, count: int) -> NDArray[np.uint64]:
        """Return the next `count` of the given words."""
        assert count <= len(self.remaining), "More words were drawn than the test foresaw."
        taken, self.remaining = self.remaining[:count], self.remaining[count:]
        return np.array(taken, dtype=np.uint64)


@dataclass
class CountingEntropy:
    """Counts opened streams, to show that a refusal precedes any draw."""

    inner: SeededEntropy | ZeroNoise = field(default_factory=ZeroNoise)
    opened: int = 0

    def stream(self) -> RandomWords:
        """Return a stream of the inner entropy."""
        self.opened += 1
        return self.inner.stream()
