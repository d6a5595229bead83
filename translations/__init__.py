"""Message catalogues: extraction from the sources, storage in `locale/`, and compilation."""
