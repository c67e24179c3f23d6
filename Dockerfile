# The program with everything it needs, as a user without privileges. On a GPU: docs/workers.md.
FROM python:3.11.14-slim-bookworm

ENV PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1 PIP_NO_CACHE_DIR=1 PIP_DISABLE_PIP_VERSION_CHECK=1

RUN useradd --create-home --uid 10001 indexer && install -d -o indexer /data /data/home
WORKDIR /app

# The packages change seldom, and are large: a layer of their own.
COPY requirements.lock ./
RUN pip install --no-deps --require-hashes -r requirements.lock

COPY pyproject.toml README.md LICENSE ./
COPY indexer indexer
COPY mappings mappings
COPY models models
COPY trainer trainer
COPY workers workers
RUN pip install --no-index --no-deps --no-build-isolation .

USER indexer
WORKDIR /data
ENV INDEXER_HOME=/data/home
ENTRYPOINT ["indexer"]
CMD ["--help"]
