"""Public pages and the owner's desk."""
