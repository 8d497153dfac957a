# Two stages build static binaries, of uplinker and of Helm; the image holds them, a certificate bundle and two folders to
# write to, nothing else.
FROM rust:1.95-alpine AS build
# Alpine keeps no older versions, so that pinned ones would soon build nothing; nothing of these packages is in the image but the bundle.
# hadolint ignore=DL3018
RUN apk add --no-cache build-base perl make linux-headers ca-certificates
WORKDIR /src
COPY . .
RUN cargo build --release --locked && ./target/release/uplinker --version
# Engines that copy it into a tmpfs of root's, as Podman does, keep its mode.
RUN mkdir -p /root-of-image/cache /root-of-image/tmp && chmod 1777 /root-of-image/tmp

# Go proves the sources against its sum database.
FROM golang:1.26-alpine AS helm
# Without the flags of its Makefile it would call itself 3.22 and take every cluster for Kubernetes 1.20.
RUN CGO_ENABLED=0 go install -trimpath -ldflags='-s -w \
        -X helm.sh/helm/v3/internal/version.version=v3.22.0 \
        -X helm.sh/helm/v3/pkg/chartutil.k8sVersionMajor=1 \
        -X helm.sh/helm/v3/pkg/chartutil.k8sVersionMinor=37' \
        helm.sh/helm/v3/cmd/helm@v3.22.0 && helm version

FROM scratch
COPY --from=build /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/ca-certificates.crt
COPY --from=build /src/target/release/uplinker /uplinker
COPY --from=helm /go/bin/helm /helm
# The cache may be a volume or nothing; where it cannot be written, /tmp is used.
COPY --from=build --chown=65532:65532 /root-of-image/ /
ENV SSL_CERT_FILE=/etc/ssl/certs/ca-certificates.crt \
    UPLINKER_CACHE_DIR=/cache \
    UPLINKER_HELM=/helm \
    UPLINKER_REPOS_FILE=/etc/uplinker/repositories \
    UPLINKER_LISTEN=:8080
USER 65532:65532
EXPOSE 8080
# Of `serve`; a container in which another command runs for long shows as unhealthy, which engines take as a note.
HEALTHCHECK --interval=30s --timeout=6s CMD ["/uplinker", "healthcheck"]
ENTRYPOINT ["/uplinker"]
# The list of repositories is to be mounted at /etc/uplinker/repositories, one URL a line.
CMD ["serve"]
