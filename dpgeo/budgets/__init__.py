"""Django app of the append-only privacy ledgers."""
