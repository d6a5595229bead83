#!/usr/bin/env python
"""Django's command line."""

import os
import sys


def main() -> None:
    """Run a management command."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "dpgeo.config.settings")
    try:
        from dpgeo.config.program import run
    except ModuleNotFoundError:
        sys.exit(
            "This Python has none of dpgeo's packages. After `make run` or `make packages` use the "
            "one that has: .venv/bin/python manage.py ..."
        )
    run(sys.argv)


if __name__ == "__main__":
    main()
