"""The vocabulary of privacy: epsilon, spends, guarantees, parameters, releases. No Django."""
