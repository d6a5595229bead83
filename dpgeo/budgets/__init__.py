"""The append-only privacy ledger (Django app)."""
