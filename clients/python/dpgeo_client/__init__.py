"""Client for dpgeo servers that finds, reads, draws and requests private maps."""

from dpgeo_client.asynchronous import AsyncCatalogue, AsyncRelease
from dpgeo_client.catalogue import Catalogue, Releases
from dpgeo_client.errors import ApiError, DpgeoError, NetworkError
from dpgeo_client.release import Release
from dpgeo_client.upload import Upload

__all__ = [
    "ApiError",
    "AsyncCatalogue",
    "AsyncRelease",
    "Catalogue",
    "DpgeoError",
    "NetworkError",
    "Release",
    "Releases",
    "Upload",
]
