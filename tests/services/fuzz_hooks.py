"""Hooks for the API fuzzer that let it send bytes by the tus protocol."""

from __future__ import annotations

import schemathesis

schemathesis.serializer.alias("application/offset+octet-stream", "application/octet-stream")
