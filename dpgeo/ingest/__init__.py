"""Ingestion of uploaded files into canonical files; no noise is added here."""
