"""OGC API - Features, Part 1: Core (17-069r4), for QGIS and GDAL.

Every layer of every published release is a collection, read from its GeoParquet file. Answers are
the same for everybody: drafts are never included.
"""
