"""Private records grouped by person, and their assignment to virtual users.

Privacy argument. The number of virtual users is public: it is declared before any data are read.
Every real person is assigned to one virtual user by an independent uniform draw. A virtual user has
all records of the persons assigned to it, who may be none, one or many. Fix the draws of all other
persons. Adding a person then adds at most l records to one virtual user, removes no record and
reassigns nobody. So in a table of counts by virtual user and bin (a public group of places), one
row grows by at most l in total: the table has L1 sensitivity l, however many virtual users there
are. This holds for every outcome of the draws, and therefore for their mixture. Persons get their
draws in the order in which they are read. Since draws are independent and identically distributed,
that order does not matter.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpgeo.privacy.counts import Opaque, PrivateCounts
from dpgeo.privacy.exponential_mechanism import draw_uniform
from dpgeo.privacy.randomness import RandomWords
from dpgeo.privacy.sparse import PrivateSparseCounts

Ints = NDArray[np.int64]

CHUNK = 1 << 18
"""Number of persons assigned at a time, which limits the memory of the draw."""


class PrivateVisits(Opaque):
    """Private pairs of a person and an item, which is the index of a grid cell or of a place.

    Persons are numbered from 0. A real person has at most `sensitivity` items. Only the Meter can
    read the values; see `Opaque`.
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
        """Store pairs of a person (n,) and an item (n,), a cell or a place, as integers from 0.

        Items are below `size`. `people` is the number of virtual users, or 0 if the persons are
        still real persons. A real person has at most `sensitivity` items.
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
        """Number of possible items (grid cells or places), which is public."""
        return self._size

    @property
    def sensitivity(self) -> int:
        """Largest number of items (grid cells or places) that one real person can have."""
        return self._sensitivity

    @property
    def people(self) -> int:
        """Public number of virtual users, or 0 before `Meter.assign_virtual_user` is called."""
        return self._people

    def _assign_by_meter(self, people: int, random: RandomWords) -> PrivateVisits:
        """Assign persons to virtual users. Only `Meter.assign_virtual_user` may call this."""
        persons = int(self.__persons.max(initial=-1)) + 1
        virtual_user = np.empty(persons, dtype=np.int64)
        for start in range(0, persons, CHUNK):
            chunk = virtual_user[start : start + CHUNK]
            chunk[:] = draw_uniform(np.full(len(chunk), people), random)
        return PrivateVisits(
            virtual_user[self.__persons],
            self.__items,
            size=self._size,
            sensitivity=self._sensitivity,
            people=people,
        )

    def map_items(self, function: Callable[[Ints], Ints], size: int) -> PrivateVisits:
        """Replace every item (a cell or place) by a public function of it, from 0 to `size` - 1."""
        return PrivateVisits(
            self.__persons,
            function(self.__items),
            size=size,
            sensitivity=self._sensitivity,
            people=self._people,
        )

    def counts(self) -> PrivateSparseCounts:
        """Count how often each item (a grid cell or a place) occurs.

        One person adds at most `sensitivity` to all counts together.
        """
        items, amounts = np.unique(self.__items, return_counts=True)
        return PrivateSparseCounts(items, amounts, size=self._size, sensitivity=self._sensitivity)

    def group_counts(self, group: Ints, groups: int) -> PrivateCounts:
        """Return the number of items (cells or places) in each public group, in shape (groups,).

        `group` holds the group of each possible item. One person adds at most `sensitivity`
        to all numbers together.
        """
        counts = np.bincount(group[self.__items], minlength=groups)
        return PrivateCounts(counts, sensitivity=self._sensitivity)

    def person_counts(self, group: Ints, groups: int) -> PrivateCounts:
        """Return the number of each virtual user's items (cells or places) in each group.

        The shape is (people, groups). `group` holds the public group of each possible item.
        """
        if not self._people:
            raise ValueError("Deal people out before counting them one by one.")
        key = self.__persons * groups + group[self.__items]
        counts = np.bincount(key, minlength=self._people * groups)
        return PrivateCounts(counts.reshape(self._people, groups), sensitivity=self._sensitivity)

    def _read_by_meter(self) -> tuple[Ints, Ints]:
        """Return the pairs of a person (n,) and an item (n,), a grid cell or a place.

        Only `Meter.replace` may call this.
        """
        return self.__persons, self.__items

    def __repr__(self) -> str:
        return f"PrivateVisits(size={self._size}, sensitivity={self._sensitivity})"
