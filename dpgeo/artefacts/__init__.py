"""The codec of Released objects, and one encoder per file format; no private data."""
