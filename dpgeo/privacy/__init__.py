"""Private views, opaque counts, exact noise, and the Meter that adds noise to counts."""
