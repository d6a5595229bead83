"""Post-processing of released objects, without access to private data."""
