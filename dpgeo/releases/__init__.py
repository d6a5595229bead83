"""Request, run and publish releases; the only opener of production noise (Django app)."""
