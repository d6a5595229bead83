"""Django app of releases, the only part that uses production noise."""
