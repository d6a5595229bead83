"""Hooks that let the API fuzzer send bytes by the tus protocol."""

from __future__ import annotations

import schemathesis

schemathesis.serializer.alias("application/offset+octet-stream", "application/octet-stream")
