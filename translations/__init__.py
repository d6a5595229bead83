"""Message catalogues: extracted from the sources, kept in `locale/`, compiled."""
