"""Template tags and filters of the website's pages."""
