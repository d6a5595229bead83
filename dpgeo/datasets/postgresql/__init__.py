"""Tables and views of PostgreSQL that may be registered, and how they are read.

The setting DPGEO_SOURCES names a database for an organisation, as in
`city-transport/warehouse=postgresql://reader@db.example/trips`. The password is in that setting, in
PGPASSWORD or in a password file; this site's own database holds only the name, here `warehouse`.

Rows are always read in one transaction, read-only and REPEATABLE READ, so all of its queries see
the same rows. First, the database computes the number of rows and a checksum of them; if these
differ from the snapshot's, Conflict is raised. If a column that only grows is declared, the
snapshot has the rows up to its greatest value then, so later rows do not matter.

Every SQL expression that reads a column is total, which means that it fails for no value: infinite
times become nulls, large decimal numbers become texts or nulls, and quotients too small for float64
become 0. An error of the database therefore never depends on a table's values, though a view's own
expressions may fail. Errors are reported by their code or their kind (`postgresql.errors`), never
in the database's words, which may quote values. Queries contain
nothing secret: no key, no salt, no hash of a person.
"""
