"""Planning of paid tasks on a released map."""
