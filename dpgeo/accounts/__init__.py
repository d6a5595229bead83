"""Django app of organisations, roles, user accounts and API keys."""
