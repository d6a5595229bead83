"""Secret keys of the person hashes, encrypted with a key kept outside the database.

A person's hash offers no protection from somebody who has its key, since the hashes of all likely
identifiers can be computed. So the database holds each dataset's key encrypted (AES-256-GCM). These
keys are decrypted with the installation's own key, which comes from the setting DPGEO_PERSON_KEY or
from a file that only the site's account may read. Decryption also verifies the key: with another
installation's key, hashing fails instead of producing hashes that no erasure would match.

The key file is created when the first dataset is declared. It is never created while there are
datasets whose keys were encrypted with an earlier file.
"""

from __future__ import annotations

import hashlib
import os
import secrets
from pathlib import Path

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from django.conf import settings

from dpgeo.core.errors import Conflict
from dpgeo.datasets.models import Dataset

KEY_BYTES = 32
NONCE_BYTES = 12
MIN_KEY_LENGTH = 32
"""Minimum length of the installation's key, in characters."""

OTHERS = 0o077
"""Permission bits that let anybody but the owner use a file."""


def new_sealed_key(*, first: bool) -> bytes:
    """Return a new encrypted key for a dataset.

    For the `first` dataset, the installation's key file is created if there is no key yet.

    Raises Conflict if the installation's key is missing or cannot be used.
    """
    if first:
        make_key_file()
    return seal(secrets.token_bytes(KEY_BYTES))


def make_key_file() -> None:
    """Create the installation's key file unless it exists or DPGEO_PERSON_KEY is set."""
    path = Path(settings.PERSON_KEY_FILE)
    if settings.PERSON_KEY or path.exists():
        return
    fresh = path.with_name(f"{path.name}.{os.getpid()}-{secrets.token_hex(4)}")
    descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(descriptor, "w") as file:
            file.write(secrets.token_urlsafe(48))
            file.flush()
            os.fsync(descriptor)
        os.link(fresh, path)
    except FileExistsError:  # another process made the key file first
        pass
    finally:
        fresh.unlink()


def seal(key: bytes) -> bytes:
    """Encrypt a dataset's key; return nonce, ciphertext and tag, 60 bytes.

    Raises Conflict if the installation's key is missing or cannot be used.
    """
    nonce = secrets.token_bytes(NONCE_BYTES)
    return nonce + _cipher().encrypt(nonce, key, None)


def unseal(sealed: bytes) -> bytes:
    """Decrypt a dataset's key.

    Raises Conflict if the installation's key is missing or cannot be used, or if the dataset's key
    was encrypted with a different one.
    """
    try:
        return _cipher().decrypt(sealed[:NONCE_BYTES], sealed[NONCE_BYTES:], None)
    except InvalidTag:
        raise Conflict(
            "The key of the person hashes is not the one that this dataset was declared with. "
            "Whoever runs this site has to bring that key back; see docs/operate.md."
        ) from None


def problem_with_file() -> str:
    """Return why the key file must not be used, or "" if it is fine or not needed."""
    path = Path(settings.PERSON_KEY_FILE)
    if settings.PERSON_KEY or not path.exists():
        return ""
    if path.stat().st_mode & OTHERS:
        return f"Others may read {path}; run chmod 600 on it."
    return "" if len(path.read_text().strip()) >= MIN_KEY_LENGTH else f"{path} holds no key."


def hashing_key(dataset: Dataset) -> bytes:
    """Return the key of a dataset's person hashes.

    This is the organisation's key followed by the dataset's own, so that the hashes can be compared
    with those of other datasets. Raises Conflict if a key cannot be decrypted.
    """
    own = unseal(bytes(dataset.sealed_person_key))
    return organisation_key(b"people", dataset.organisation_id) + own


def organisation_key(purpose: bytes, organisation_id: int) -> bytes:
    """Return an organisation's key for one purpose, such as comparing files, and no other."""
    return derived_key(b"%s of organisation %d" % (purpose, organisation_id))


def _cipher() -> AESGCM:
    """Return the cipher that encrypts the datasets' keys.

    Raises Conflict if the installation's key is missing or cannot be used.
    """
    return AESGCM(derived_key(b"seal"))


def derived_key(purpose: bytes) -> bytes:
    """Derive a key of 32 bytes for one purpose from the installation's key.

    Raises Conflict if the installation's key is missing or cannot be used.
    """
    path = Path(settings.PERSON_KEY_FILE)
    text = settings.PERSON_KEY
    if not text:
        if not path.exists() or problem_with_file():
            raise Conflict(
                "The key of the person hashes is missing or cannot be used, so no file can be "
                "read. Whoever runs this site finds the reason with manage.py check and in "
                "docs/operate.md."
            )
        text = path.read_text()
    main = hashlib.sha256(text.strip().encode()).digest()
    return hashlib.blake2b(purpose, key=main, person=b"dpgeo persons", digest_size=32).digest()
