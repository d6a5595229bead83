"""Secret keys of the person hashes, sealed with a key kept outside the database.

A person's hash offers no protection from somebody who has its key, since the hashes of all likely
identifiers can be computed. So the database holds each dataset's key encrypted (AES-256-GCM). What
decrypts these keys is the installation's own key, which comes from the setting DPGEO_PERSON_KEY or
from a file that only the site's account may read. Decryption also verifies: with another
installation's key nothing is hashed, instead of hashes being made that no erasure would match.

The key file is made when the first dataset is declared, or when an older database is migrated. It
is never made while there are datasets whose keys were sealed with an earlier file.
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
SHORTEST = 32
"""Fewest characters of the installation's key."""

OTHERS = 0o077
"""Permission bits that let anybody but its owner use a file."""


def new_sealed_key(*, first: bool) -> bytes:
    """Return a fresh key for a dataset, sealed. If `first`, a new key file may be made.

    Raises Conflict if the installation's key is missing or cannot be used.
    """
    if first:
        make_key_file()
    return seal(secrets.token_bytes(KEY_BYTES))


def make_key_file() -> None:
    """Make the installation's key file if there is neither such a file nor a setting."""
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
    except FileExistsError:  # another process made it first
        pass
    finally:
        fresh.unlink()


def seal(key: bytes) -> bytes:
    """Encrypt a dataset's key: nonce, ciphertext and tag, 60 bytes. Raises Conflict."""
    nonce = secrets.token_bytes(NONCE_BYTES)
    return nonce + _cipher().encrypt(nonce, key, None)


def unseal(sealed: bytes) -> bytes:
    """Decrypt a dataset's key.

    Raises Conflict if the installation's key is missing or cannot be used, or if another one sealed
    the dataset's key.
    """
    try:
        return _cipher().decrypt(sealed[:NONCE_BYTES], sealed[NONCE_BYTES:], None)
    except InvalidTag:
        raise Conflict(
            "The key of the person hashes is not the one that this dataset was declared with. "
            "Whoever runs this site has to bring that key back; see docs/operate.md."
        ) from None


def problem_with_file() -> str:
    """Return why the key file must not be used; "" if it is fine or not used at all."""
    path = Path(settings.PERSON_KEY_FILE)
    if settings.PERSON_KEY or not path.exists():
        return ""
    if path.stat().st_mode & OTHERS:
        return f"Others may read {path}; run chmod 600 on it."
    return "" if len(path.read_text().strip()) >= SHORTEST else f"{path} holds no key."


def hashing_key(dataset: Dataset) -> bytes:
    """Return the key of a dataset's person hashes, preceded by the organisation's if layered.

    Raises Conflict, as `unseal` does.
    """
    own = unseal(bytes(dataset.sealed_person_key))
    return organisation_key(b"people", dataset.organisation_id) + own if dataset.layered else own


def organisation_key(purpose: bytes, organisation_id: int) -> bytes:
    """Return an organisation's key for one kind of comparison, and for nothing else."""
    return derived_key(b"%s of organisation %d" % (purpose, organisation_id))


def _cipher() -> AESGCM:
    """Return the cipher that seals the datasets' keys. Raises Conflict."""
    return AESGCM(derived_key(b"seal"))


def derived_key(purpose: bytes) -> bytes:
    """Derive a key for one purpose, 32 bytes, from the installation's key. Raises Conflict."""
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
