"""Django app of releases, the only user of production noise."""
