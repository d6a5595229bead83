"""Codec for Released objects and one encoder per file format. Reads no private data."""
