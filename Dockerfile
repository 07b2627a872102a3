# The broker in an image of its own: one static binary and nothing else.
#
#   docker build -t broker .
#   docker run --read-only -p 6379:6379 broker
#
# Commands made for a Redis image work: `redis-server --requirepass x`, flags
# alone, and `redis-cli ping` as a health check. The listener takes connections
# from everywhere, without protected mode, unless a file, the environment or
# flags say otherwise.
#
# A prebuilt binary: make image-root, which fills dist/image, and then
# docker build --build-context build=dist/image .

FROM --platform=$BUILDPLATFORM golang:1.26 AS build
ARG TARGETOS TARGETARCH VERSION
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
RUN make image-root DIST=/dist GOOS=$TARGETOS GOARCH=$TARGETARCH VERSION=$VERSION && mv /dist/image/out /out

FROM scratch
COPY --from=build /out/ /
ENV PATH=/usr/bin \
    BROKER_DEFAULTS="--bind * -::* --protected-mode no"
USER 65532:65532
EXPOSE 6379
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=10s --timeout=5s --start-period=5s CMD ["/usr/bin/broker", "ping"]
ENTRYPOINT ["/usr/bin/broker"]
LABEL org.opencontainers.image.title="broker" \
      org.opencontainers.image.description="A Redis-compatible publish/subscribe server" \
      org.opencontainers.image.licenses="MIT"
