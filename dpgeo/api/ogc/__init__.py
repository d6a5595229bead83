"""OGC API - Features, for QGIS and GDAL.

It implements Part 1: Core (17-069r4), Part 2: coordinate systems (18-058r1), Part 3: filters
(19-079r2) and Part 5: schemas.

Every layer of every published release is a collection, read from its GeoParquet file, and so are
all published maps of a series together. Responses are the same for everybody, because drafts are
never included.
"""
