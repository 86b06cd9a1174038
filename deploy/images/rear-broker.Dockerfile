# The broker as an image: docker build --file deploy/images/rear-broker.Dockerfile --tag rear-broker:0.1.0 .
# Both images can be others: --build-arg BASE_IMAGE=REGISTRY/debian:bookworm-slim
ARG BUILD_IMAGE=docker.io/library/rust:1.95-bookworm
ARG BASE_IMAGE=docker.io/library/debian:bookworm-slim

FROM ${BUILD_IMAGE} AS build
WORKDIR /src
# The client of etcd is made from its messages.
RUN apt-get update && apt-get install --yes --no-install-recommends protobuf-compiler libprotobuf-dev
COPY . .
RUN cargo build --locked --release --package rear-broker --bin rear-broker --features etcd

FROM ${BASE_IMAGE}
COPY --from=build /src/target/release/rear-broker /usr/bin/rear-broker
# A volume begins with the rights of the folder under it.
RUN install --directory --owner=65532 --group=65532 --mode=700 /var/lib/rear
VOLUME /var/lib/rear
# The API, the metrics, the probes.
EXPOSE 8443 8080 8081
USER 65532:65532
ENTRYPOINT ["/usr/bin/rear-broker"]
CMD ["serve", "--data", "/var/lib/rear"]
