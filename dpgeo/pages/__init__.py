"""Public pages and the pages for data owners, called the desk (Django app)."""
