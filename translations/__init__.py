"""Catalogues of messages: found in the sources, kept in `locale/`, compiled for the pages."""
