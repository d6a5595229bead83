"""Management commands, one per file, and the code that they share."""
