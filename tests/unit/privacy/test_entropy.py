"""Randomness in production: keys from the operating system, and streams that do not overlap."""

from __future__ import annotations

import copy
import os
import pickle

import numpy as np
import pytest
from numpy.typing import NDArray

from dpgeo.privacy import entropy
from dpgeo.privacy.entropy import SystemEntropy, SystemWords

BLOCK = 5000


class Keys:
    """A stand-in for the operating system's randomness: it returns known keys and counts them."""

    def __init__(self) -> None:
        self.given: list[int] = []

    def __call__(self, count: int) -> bytes:
        self.given.append(count)
        return bytes([len(self.given) - 1]) * count


@pytest.fixture
def keys(monkeypatch: pytest.MonkeyPatch) -> Keys:
    source = Keys()
    monkeypatch.setattr(os, "urandom", source)
    return source


def words_of_a_child(stream: SystemWords) -> NDArray[np.uint64]:
    """Return the 64-bit words that a forked process draws from an inherited stream."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reader)
        with open(writer, "wb") as pipe:  # noqa: PTH123
            pipe.write(stream.words(BLOCK).tobytes())
        os._exit(0)
    os.close(writer)
    with open(reader, "rb") as pipe:  # noqa: PTH123
        drawn = np.frombuffer(pipe.read(), dtype=np.uint64)
    assert os.waitpid(child, 0)[1] == 0
    return drawn


def test_every_stream_gets_a_new_key(keys: Keys) -> None:
    source = SystemEntropy()
    assert keys.given == []
    source.stream()
    source.stream()
    assert keys.given == [32, 32]


def test_the_words_are_the_keystream_of_chacha20(keys: Keys) -> None:
    # RFC 8439, appendix A.1, test vector 1: key, nonce and counter are zero.
    expected = bytes.fromhex("76b8e0ada0f13d90405d6ae55386bd28bdd219b8a08ded1aa836efcc8b770dc7")
    stream = SystemEntropy().stream()
    drawn = np.concatenate([stream.words(1), stream.words(3)])
    assert drawn.tobytes() == expected


def test_streams_share_no_words() -> None:
    source = SystemEntropy()
    first, second = source.stream().words(BLOCK), source.stream().words(BLOCK)
    assert not np.intersect1d(first, second).size
    assert np.unique(first).size == BLOCK


def test_a_stream_shares_no_words_after_a_fork() -> None:
    stream = SystemEntropy().stream()
    stream.words(10)
    child, sibling = words_of_a_child(stream), words_of_a_child(stream)
    parent = stream.words(BLOCK)
    assert child.size == sibling.size == BLOCK
    assert np.unique(np.concatenate([child, sibling, parent])).size == 3 * BLOCK


def test_a_key_is_renewed_before_its_counter_ends(
    keys: Keys, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(entropy, "WORDS_PER_KEY", 8)
    stream = SystemEntropy().stream()
    first = [stream.words(5), stream.words(3)]
    assert len(keys.given) == 1
    renewed = stream.words(5)
    assert len(keys.given) == 2
    assert not np.intersect1d(np.concatenate(first), renewed).size


def test_a_stream_cannot_be_copied() -> None:
    stream = SystemEntropy().stream()
    for duplicate in (copy.copy, copy.deepcopy, pickle.dumps):
        with pytest.raises(TypeError, match="words would come twice"):
            duplicate(stream)
