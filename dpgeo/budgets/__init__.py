"""Django app with the append-only privacy ledgers."""
