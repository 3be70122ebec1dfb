# The code location: definitions, run workers and the `loopwright` command. No torch; training images add [train].
FROM python:3.11-slim

ENV PYTHONUNBUFFERED=1 \
    LOOPWRIGHT_HOME=/state \
    DAGSTER_HOME=/state/dagster
WORKDIR /app

COPY constraints.txt pyproject.toml README.md LICENSE dagster.yaml ./
COPY dagster_project dagster_project
COPY assets assets
COPY resources resources
COPY training training
COPY environments environments
ARG EXTRAS=cpu,plot,postgres
RUN pip install --no-cache-dir --compile -c constraints.txt ".[${EXTRAS}]" \
 && useradd --uid 10001 --create-home loopwright \
 && mkdir -p /state/dagster && cp dagster.yaml /state/dagster/ && chown -R loopwright /state

USER loopwright
VOLUME /state
EXPOSE 4000
HEALTHCHECK --interval=15s --timeout=10s --start-period=60s --retries=4 \
  CMD ["dagster", "api", "grpc-health-check", "--port", "4000"]
CMD ["dagster", "code-server", "start", "--host", "0.0.0.0", "--port", "4000", "--module-name", "dagster_project.definitions"]
