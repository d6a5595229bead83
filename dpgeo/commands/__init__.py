"""Management commands, in one file each, and the code that they share."""
