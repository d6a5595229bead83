"""OGC API - Features, Part 1: Core (17-069r4), so that QGIS and GDAL connect without a plug-in.

Every layer of every published release is a collection, read from its GeoParquet file. Who asks is
never looked at: drafts are not here for anybody.
"""
