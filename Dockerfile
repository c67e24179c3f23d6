# Two images of the program, as a user without privileges:
#
#   docker build --target light .   indexes, searches, serves and works on a CPU; without torch
#   docker build --target gpu .     everything: encodes on a GPU, trains and retrains
FROM python:3.11.14-slim-bookworm AS base

ENV PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1 PIP_NO_CACHE_DIR=1 PIP_DISABLE_PIP_VERSION_CHECK=1

RUN useradd --create-home --uid 10001 indexer && install -d -o indexer /data /data/home
WORKDIR /app

FROM base AS source
COPY pyproject.toml README.md LICENSE ./
COPY indexer indexer
COPY mappings mappings
COPY models models
COPY trainer trainer
COPY workers workers

# The packages change seldom, and are large: a layer of their own in each image.
FROM base AS gpu
COPY requirements.lock ./
RUN pip install --no-deps --require-hashes -r requirements.lock
COPY --from=source /app ./
RUN pip install --no-index --no-deps --no-build-isolation .
USER indexer
WORKDIR /data
ENV INDEXER_HOME=/data/home
ENTRYPOINT ["indexer"]
CMD ["--help"]

# The last one is the default.
FROM base AS light
COPY requirements-server.lock ./
RUN pip install --no-deps --require-hashes -r requirements-server.lock
COPY --from=source /app ./
RUN pip install --no-index --no-deps --no-build-isolation .
USER indexer
WORKDIR /data
ENV INDEXER_HOME=/data/home
ENTRYPOINT ["indexer"]
CMD ["--help"]
