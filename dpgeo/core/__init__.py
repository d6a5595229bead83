"""Privacy concepts that do not need Django: epsilon, spends, guarantees, releases."""
