"""Whose record is where: private records that keep apart the people they belong to.

Privacy argument for a public number of made-up people. There are as many of them as was declared
before anything is read, whoever is in the data. Every real person is dealt to one of them by a
uniform draw of their own, which depends on nobody else; a made-up person has all records of those
dealt to it: of nobody, of one or of many. Fix the draws of all others: to add a person adds at most
l records to one made-up person, takes none away and moves nobody. So of the counts of (made-up
person, bin) one row grows, by at most l in total: as a vector they have the L1 sensitivity l,
however many people there are. It holds whatever was drawn, hence also on average. Draws are handed
out in the order in which people are read; being independent and alike, they would be no different
in another order.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpgeo.privacy.counts import Opaque, PrivateCounts
from dpgeo.privacy.exponential_mechanism import uniform
from dpgeo.privacy.randomness import RandomWords
from dpgeo.privacy.sparse import PrivateSparseCounts

Ints = NDArray[np.int64]

CHUNK = 1 << 18
"""People dealt out at a time, each of whom takes several words while they are."""


class PrivateVisits(Opaque):
    """Items, cells of a grid or numbers of places, of people numbered from 0 on.

    One person has at most `sensitivity` of them. Read through the Meter, and in no other way; see
    `Opaque`.
    """

    __slots__ = ("__items", "__persons", "_people", "_sensitivity", "_size")

    __items: Ints
    __persons: Ints
    _people: int
    _sensitivity: int
    _size: int

    def __init__(
        self,
        persons: NDArray[np.integer[Any]],
        items: NDArray[np.integer[Any]],
        *,
        size: int,
        sensitivity: int,
        people: int = 0,
    ) -> None:
        """Persons (n,) and their items (n,), 0 to size - 1; see `Meter.assign_virtual_user` for
        `people`.
        """
        if operator.index(sensitivity) < 1:
            raise ValueError("The sensitivity of visits is at least 1.")
        own = "_PrivateVisits"
        object.__setattr__(self, f"{own}__persons", np.asarray(persons, dtype=np.int64))
        object.__setattr__(self, f"{own}__items", np.asarray(items, dtype=np.int64))
        object.__setattr__(self, "_people", operator.index(people))
        object.__setattr__(self, "_size", operator.index(size))
        object.__setattr__(self, "_sensitivity", operator.index(sensitivity))

    @property
    def size(self) -> int:
        """Number of items there may be; public."""
        return self._size

    @property
    def sensitivity(self) -> int:
        """The most items of one person."""
        return self._sensitivity

    @property
    def people(self) -> int:
        """The public number of made-up people; 0 before real ones are dealt to them."""
        return self._people

    def _dealt_by_meter(self, people: int, random: RandomWords) -> PrivateVisits:
        """The same, of so many made-up people; for `Meter.assign_virtual_user` alone, argued in the
        module.
        """
        real = int(self.__persons.max(initial=-1)) + 1
        dealt = np.empty(real, dtype=np.int64)
        for start in range(0, real, CHUNK):
            part = dealt[start : start + CHUNK]
            part[:] = uniform(np.full(len(part), people), random)
        return PrivateVisits(
            dealt[self.__persons],
            self.__items,
            size=self._size,
            sensitivity=self._sensitivity,
            people=people,
        )

    def replaced(self, by: Callable[[Ints], Ints], size: int) -> PrivateVisits:
        """Every item replaced by a public function of that item alone, into 0 to size - 1."""
        return PrivateVisits(
            self.__persons,
            by(self.__items),
            size=size,
            sensitivity=self._sensitivity,
            people=self._people,
        )

    def counts(self) -> PrivateSparseCounts:
        """How often each item occurs, of the same sensitivity."""
        items, amounts = np.unique(self.__items, return_counts=True)
        return PrivateSparseCounts(items, amounts, size=self._size, sensitivity=self._sensitivity)

    def group_counts(self, group: Ints, groups: int) -> PrivateCounts:
        """Counts (groups,) of all items by their public group (size,), of the same sensitivity."""
        counts = np.bincount(group[self.__items], minlength=groups)
        return PrivateCounts(counts, sensitivity=self._sensitivity)

    def person_counts(self, group: Ints, groups: int) -> PrivateCounts:
        """Counts (people, groups) of every made-up person's items by their public group (size,)."""
        if not self._people:
            raise ValueError("Deal people out before counting them one by one.")
        key = self.__persons * groups + group[self.__items]
        counts = np.bincount(key, minlength=self._people * groups)
        return PrivateCounts(counts.reshape(self._people, groups), sensitivity=self._sensitivity)

    def _read_by_meter(self) -> tuple[Ints, Ints]:
        """Persons and items, for `Meter.replace` alone."""
        return self.__persons, self.__items

    def __repr__(self) -> str:
        return f"PrivateVisits(size={self._size}, sensitivity={self._sensitivity})"
