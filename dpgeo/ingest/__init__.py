"""Uploaded files become one canonical file: schema, readers, writer. No noise."""
