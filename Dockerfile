# Stage 1 builds a static binary; stage 2 holds it, a certificate bundle and two folders to write to, nothing else.
FROM rust:1.95-alpine AS build
RUN apk add --no-cache build-base perl make linux-headers ca-certificates
WORKDIR /src
COPY . .
RUN cargo build --release --locked && ./target/release/uplinker --version
RUN mkdir -p /root-of-image/cache /root-of-image/tmp

FROM scratch
COPY --from=build /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/ca-certificates.crt
COPY --from=build /src/target/release/uplinker /uplinker
# The cache may be a volume or nothing; where it cannot be written, /tmp is used.
COPY --from=build --chown=65532:65532 /root-of-image/ /
ENV SSL_CERT_FILE=/etc/ssl/certs/ca-certificates.crt \
    UPLINKER_CACHE_DIR=/cache \
    UPLINKER_REPOS_FILE=/etc/uplinker/repositories
USER 65532:65532
ENTRYPOINT ["/uplinker"]
# The list of repositories is to be mounted at /etc/uplinker/repositories, one URL a line.
CMD ["serve"]
