"""dpgeo: publish a map of where people go without publishing where any person goes."""

__version__ = "0.1.0"
