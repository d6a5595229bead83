"""Production randomness: ChaCha20 keystreams under keys from the operating system.

Only `dpgeo.releases` imports this module.

Every stream is the keystream of ChaCha20 (RFC 8439) under a 256-bit key, which is read from the
operating system when the stream is opened. Two streams are therefore as independent as the
operating system's keys. A process that was forked while a stream was in use takes a new key before
it draws its next 64-bit word, so parent and child process never share a key.
"""

from __future__ import annotations

import os

import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher, CipherContext, algorithms
from numpy.typing import NDArray

WORDS_PER_KEY = 1 << 32
"""Largest number of 64-bit words drawn under one key.

ChaCha20's 32-bit block counter would allow 8 times as many.
"""


class SystemEntropy:
    """Source of random streams, each under a new key from the operating system."""

    def stream(self) -> SystemWords:
        """Return a new stream of random words, which has a key of its own."""
        return SystemWords()


class SystemWords:
    """ChaCha20 keystream, read as 64-bit words."""

    def __init__(self) -> None:
        self._take_key()

    def words(self, count: int) -> NDArray[np.uint64]:
        """Return the next `count` 64-bit words, uint64 (count,)."""
        if os.getpid() != self._process or count > self._left:
            self._take_key()
        self._left -= count
        return np.frombuffer(self._cipher.update(bytes(8 * count)), dtype=np.uint64)

    def _take_key(self) -> None:
        self._process = os.getpid()
        self._left = WORDS_PER_KEY
        # A zero nonce is safe, because no two streams use the same key.
        algorithm = algorithms.ChaCha20(os.urandom(32), bytes(16))
        self._cipher: CipherContext = Cipher(algorithm, mode=None).encryptor()

    def __reduce_ex__(self, protocol: object) -> str:
        raise TypeError("A stream of random words cannot be copied: its words would come twice.")
