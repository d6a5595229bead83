"""Client that finds, reads and requests the private maps of a dpgeo server."""

from dpgeo_client.catalogue import Catalogue
from dpgeo_client.connection import ApiError
from dpgeo_client.release import Release

__all__ = ["ApiError", "Catalogue", "Release"]
