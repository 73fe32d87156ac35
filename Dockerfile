# The image of celery-otel: Node, the compiled program and its dependencies, and nothing that compiles.
#
#     docker build --tag celery-otel .
#     docker run --rm -e CELERY_BROKER_URL=amqp://… -e OTEL_SERVICE_NAME=shop -e OTEL_EXPORTER_OTLP_ENDPOINT=http://… celery-otel
#
# It runs as any user, with a read-only file system and without capabilities, and needs no shell.

# Any image with Node 22.15 or newer, and with npm to build. A digest pins it for good: NODE_DIGEST=@sha256:…
ARG NODE_IMAGE=node:22-bookworm-slim
ARG NODE_DIGEST=

FROM ${NODE_IMAGE}${NODE_DIGEST} AS build
WORKDIR /build
COPY package.json package-lock.json ./
# Without install scripts: that of the development tool `node` would download another Node.
RUN npm ci --include=dev --ignore-scripts --no-audit --no-fund
COPY tsconfig.json tsconfig.build.json ./
COPY scripts/build.mjs scripts/
COPY src src
COPY schema schema
COPY otel-config otel-config
COPY page page
# Readable by every user, whatever the permissions of the checkout were.
RUN node scripts/build.mjs \
  && npm prune --omit=dev --ignore-scripts --no-audit --no-fund \
  && find node_modules -type d -empty -delete \
  && chmod -R a+rX,go-w .

FROM ${NODE_IMAGE}${NODE_DIGEST}
ARG VERSION=0.1.0
LABEL org.opencontainers.image.title="celery-otel" \
  org.opencontainers.image.description="Celery events in, OpenTelemetry metrics, traces and logs out" \
  org.opencontainers.image.licenses="Apache-2.0" \
  org.opencontainers.image.version="${VERSION}"
WORKDIR /app
COPY --from=build /build/package.json ./
COPY --from=build /build/node_modules node_modules
COPY --from=build /build/dist dist
COPY --from=build /build/schema schema
COPY --from=build /build/otel-config otel-config
COPY --from=build /build/page page
COPY LICENSE ./
ENV NODE_ENV=production
# Where it says how it is: /livez and /readyz.
ENV CELERY_OTEL_STATUS_ADDRESS=0.0.0.0:9909
EXPOSE 9909
# By number, so that Kubernetes can see that it is not root. Nothing depends on who it is.
USER 1000:1000
HEALTHCHECK --interval=30s --timeout=5s --start-period=10s \
  CMD ["node", "--eval", "fetch('http://127.0.0.1:9909/livez').then(({ ok }) => process.exit(ok ? 0 : 1), () => process.exit(1))"]
# As the first process it gets SIGTERM itself, and stops in an orderly way.
ENTRYPOINT ["node", "/app/dist/cli/main.js"]
CMD ["run"]
