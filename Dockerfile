# One static program in an otherwise empty image.
#
#   docker build -t mayfly .
#   docker run -p 127.0.0.1:8080:8080 -p 127.0.0.1:5300:5300 -p 127.0.0.1:5672:5672 -v mayfly:/data mayfly

FROM golang:1.26.8-bookworm AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
RUN CGO_ENABLED=0 go build -trimpath -buildvcs=false -ldflags='-s -w' -o /out/mayfly ./cmd/mayfly
# An empty image has no folders: the one the data lives in, and one for the
# store's temporary files.
RUN mkdir -p /out/data /out/tmp

FROM scratch
COPY --from=build /out/mayfly /mayfly
COPY --from=build --chown=65532:65532 /out/data /data
COPY --from=build --chown=65532:65532 /out/tmp /tmp
USER 65532:65532
VOLUME /data

# Inside a container loopback is reachable by nobody, so it listens on every
# address of the container. There is no authentication, hence the explicit
# MAYFLY_INSECURE: who may reach it is decided by how its ports are published
# (the command above publishes them to the host's own loopback).
ENV MAYFLY_HTTP=0.0.0.0:8080 \
    MAYFLY_ADMIN=0.0.0.0:5300 \
    MAYFLY_AMQP=0.0.0.0:5672 \
    MAYFLY_PEER=0.0.0.0:7071 \
    MAYFLY_INSECURE=true \
    MAYFLY_STORE=sqlite:/data/mayfly.db
EXPOSE 8080 5300 5672

# Says that the process answers, not that it is well: a broker in read-only
# mode is restarted by nobody.
HEALTHCHECK --interval=10s --timeout=3s --start-period=10s CMD ["/mayfly", "healthcheck"]
ENTRYPOINT ["/mayfly"]
