"""One file per mechanism, and `registry.py`. Mechanisms never import each other."""
