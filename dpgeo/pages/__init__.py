"""Public pages and the data owner's desk (Django app)."""
