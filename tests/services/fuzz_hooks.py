"""What the fuzzer does not know of itself: how bytes of the tus protocol are sent."""

from __future__ import annotations

import schemathesis

schemathesis.serializer.alias("application/offset+octet-stream", "application/octet-stream")
