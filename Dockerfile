# Stage 1 builds a static binary; stage 2 holds it and a certificate bundle, nothing else.
FROM rust:1.95-alpine AS build
RUN apk add --no-cache build-base perl make linux-headers ca-certificates
WORKDIR /src
COPY . .
RUN cargo build --release --locked && ./target/release/uplinker --version

FROM scratch
COPY --from=build /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/ca-certificates.crt
COPY --from=build /src/target/release/uplinker /uplinker
ENV SSL_CERT_FILE=/etc/ssl/certs/ca-certificates.crt UPLINKER_CACHE_DIR=/cache
USER 65532:65532
ENTRYPOINT ["/uplinker"]
CMD ["serve"]
