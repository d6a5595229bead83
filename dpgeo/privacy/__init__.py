"""Private views, opaque counts, the Meter and exact noise."""
