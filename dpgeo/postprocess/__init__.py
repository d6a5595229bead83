"""Post-processing of releases, without access to private data."""
