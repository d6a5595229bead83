"""Management commands, one file each, and their shared code."""
