"""Production randomness, keyed by the operating system. Only `dpgeo.releases` may import this."""
