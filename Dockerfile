# One image for the web server and the workers; what it does is the command it is started with (compose.yaml).
FROM python:3.11-slim-bookworm

# Another index of Python packages beside the default one, such as PyTorch's index of builds without CUDA: without it
# the image holds CUDA's libraries, which workers on GPU hosts need and nothing else does.
ARG PIP_EXTRA_INDEX_URL=""

RUN useradd --create-home --uid 10001 placeto && install --directory --owner=placeto --mode=0700 /data

WORKDIR /app

# What changes seldom comes first: a change of the sources does not install all packages again.
COPY requirements.txt requirements-setup.txt constraints.txt ./
COPY setup/ setup/
COPY frontend/package.json frontend/package-lock.json frontend/.npmrc frontend/vendor.mjs frontend/
# Node.js and the packages that it installs are needed until their files are in frontend/vendor.
RUN PIP_NO_CACHE_DIR=1 python -m setup application && rm -rf build frontend/node_modules /root/.npm

COPY manage.py LICENSE ./
COPY engine/ engine/
COPY experiments/ experiments/
COPY webapp/ webapp/
COPY frontend/ frontend/
# The policy that ships.
COPY policies/ policies/

ENV PATH="/app/.venv/bin:$PATH" \
    PYTHONUNBUFFERED=1 \
    PLACETO_DATA=/data \
    PLACETO_WORKER_FILE=/tmp/placeto-worker

USER placeto

# Kept in the user's home folder: no run's seconds go into compiling, unless the processor is another one.
RUN python -m engine compile

VOLUME /data
EXPOSE 8000

# Every 30 s: a start of Python is most of the work of an idle application.
HEALTHCHECK --interval=30s --timeout=5s --start-period=60s --retries=3 \
    CMD ["python", "-c", "from urllib.request import urlopen; urlopen('http://127.0.0.1:8000/health/ready', timeout=4)"]

CMD ["uvicorn", "webapp.asgi:application", "--host", "0.0.0.0", "--port", "8000", "--http", "webapp.http.connections:BoundedProtocol", "--no-proxy-headers", "--timeout-graceful-shutdown", "3"]
