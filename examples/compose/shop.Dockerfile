# The image of the shop in compose.yaml, for its workers and its customers.
ARG PYTHON_IMAGE=python:3.13-slim-bookworm
FROM ${PYTHON_IMAGE}
WORKDIR /shop
COPY requirements.txt ./
RUN pip install --no-cache-dir --requirement requirements.txt
COPY --chmod=644 shop.py place_orders.py ./
# Nothing is compiled while it runs: its file system is read-only.
ENV PYTHONDONTWRITEBYTECODE=1
USER 1000:1000
CMD ["celery", "-A", "shop", "worker", "-E"]
