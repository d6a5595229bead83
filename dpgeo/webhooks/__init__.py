"""Django app of webhooks: signed messages to servers of an organisation when it publishes."""
