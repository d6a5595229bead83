"""Tables and views of PostgreSQL that may be registered, and how their rows are read.

The setting DPGEO_SOURCES names a database for an organisation, as in
`city-transport/warehouse=postgresql://reader@db.example/trips`. The password is in that setting, in
PGPASSWORD or in a password file; this site's own database holds only the name, here `warehouse`.

Rows come by a server-side cursor in one transaction, read-only and REPEATABLE READ, and are read by
the functions that read an uploaded file: the database decides nothing about a row. It is sent the
names of columns and, if a column that only grows is declared, the greatest value read so far; no
key, no hash and no identifier of a person. Errors are reported by their code or their kind
(`postgresql.errors`), never in the database's words, which may quote values.
"""
