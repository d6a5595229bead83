"""What may be done with released objects, at no cost in privacy. Never sees private data."""
