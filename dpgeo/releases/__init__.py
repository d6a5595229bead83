"""Django app for releases: requests, private draws, publication and files."""
