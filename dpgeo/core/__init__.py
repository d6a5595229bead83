"""Privacy concepts, independent of Django: epsilon, spends, guarantees, releases."""
