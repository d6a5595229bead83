"""Request headers of the tus protocol, by which tests send files."""

from __future__ import annotations

import base64

VERSION = {"Tus_Resumable": "1.0.0"}


def announcement(name: str, size: int | str) -> dict[str, str]:
    """Return the headers that announce a file, with underscores in their names."""
    encoded = base64.b64encode(name.encode()).decode()
    return {**VERSION, "Upload_Length": str(size), "Upload_Metadata": f"filename {encoded}"}


def piece_at(offset: int | str) -> dict[str, str]:
    """Return the headers of a piece of a file, with underscores in their names."""
    media_type = "application/offset+octet-stream"
    return {**VERSION, "Upload_Offset": str(offset), "Content_Type": media_type}
