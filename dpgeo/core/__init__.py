"""Privacy concepts without Django: epsilon, spends, guarantees, releases."""
