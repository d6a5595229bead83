"""One file per mechanism, `registry.py`, and what several share. None imports another."""
