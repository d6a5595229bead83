"""Ingestion of uploaded files into canonical files: schema, readers, writer. No noise."""
