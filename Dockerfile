# dpgeo's image: the website, the workers and the reaper are the same image with another command.
#   docker build -t dpgeo .      with object storage and SAML: --build-arg LOCK="s3 saml"
# tests/services/test_container.py runs every step without Docker.

FROM node:22.19.0-bookworm-slim AS frontend
WORKDIR /build/frontend
COPY frontend/package.json frontend/package-lock.json ./
RUN npm ci --no-audit --no-fund
COPY frontend/ ./
RUN npm run build

FROM python:3.11.14-slim-bookworm
ARG LOCK=run
ENV PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1 PIP_NO_CACHE_DIR=1 \
    DPGEO_VAR=/var/lib/dpgeo DPGEO_STATIC=/srv/dpgeo/static
WORKDIR /srv/dpgeo
RUN groupadd --gid 10001 dpgeo \
 && useradd --uid 10001 --gid dpgeo --no-create-home --home-dir /nonexistent dpgeo \
 && install -d -o dpgeo -g dpgeo -m 700 /var/lib/dpgeo /backups
COPY locks/ locks/
RUN for lock in ${LOCK}; do python -m pip install --require-hashes -r "locks/$lock.txt" || exit 1; done
COPY manage.py ./
COPY dpgeo/ dpgeo/
COPY locale/ locale/
COPY --from=frontend /build/frontend/dist/ frontend/dist/
# Collected as root and read by all: no process of the site can change its own program or scripts.
# A clone that was made under umask 077 is copied with its permissions, so they are widened. The
# secret key that the settings make on the way is not left in the image. The bytecode of dpgeo is
# stored: later no process can write it, and each would take seconds longer to start.
RUN DPGEO_VAR=/tmp/build python manage.py collectstatic --noinput -v 0 \
 && rm -r /tmp/build \
 && python -m compileall -q --invalidation-mode unchecked-hash dpgeo \
 && chmod -R a+rX .
USER dpgeo
VOLUME /var/lib/dpgeo
EXPOSE 8000
CMD ["python", "manage.py", "serve", "--web-only", "--host", "0.0.0.0", "--port", "8000"]
