"""The pytest mark `one_database`, for modules that only `make audit` runs with PostgreSQL."""

from __future__ import annotations
