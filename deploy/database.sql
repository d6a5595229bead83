-- The site's account and database, made once by the image of PostgreSQL in an empty volume, as its
-- superuser. That one loses its password, so that it can only be used inside the container.
\getenv password POSTGRES_PASSWORD
CREATE ROLE dpgeo LOGIN PASSWORD :'password';
CREATE DATABASE dpgeo OWNER dpgeo;
ALTER ROLE CURRENT_USER PASSWORD NULL;
