"""Django app for releases: requests, draws of noise from private data, publication and files."""
