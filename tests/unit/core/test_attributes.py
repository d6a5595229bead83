from __future__ import annotations

import itertools

import numpy as np

from dpgeo.core.attributes import OTHER, Attribute, combinations, combine, separate

APP = Attribute("app", ("1.4", "2.0"))
DEVICE = Attribute("device", ("phone",))


def test_every_combination_has_its_own_number_and_is_restored_from_it() -> None:
    pairs = list(itertools.product(range(3), range(2)))
    codes = [np.array(column) for column in zip(*pairs, strict=True)]
    numbers = combine(codes, [APP, DEVICE])
    assert numbers.dtype == np.int32
    assert sorted(numbers.tolist()) == list(range(6)) == list(range(combinations([APP, DEVICE])))
    columns = separate(numbers, [APP, DEVICE])
    assert list(columns) == ["app", "device"]
    words = [("1.4", "2.0", OTHER)[first] for first, _ in pairs]
    assert columns["app"].tolist() == words
    assert columns["device"].tolist() == [("phone", OTHER)[second] for _, second in pairs]
