# The agent as an image: docker build --file deploy/images/rear-agent.Dockerfile --tag rear-agent:0.1.0 .
# Both images can be others: --build-arg BASE_IMAGE=REGISTRY/debian:bookworm-slim
ARG BUILD_IMAGE=docker.io/library/rust:1.95-bookworm
ARG BASE_IMAGE=docker.io/library/debian:bookworm-slim

FROM ${BUILD_IMAGE} AS build
WORKDIR /src
COPY . .
RUN cargo build --locked --release --package rear-agent --bin rear-agent

FROM ${BASE_IMAGE}
COPY --from=build /src/target/release/rear-agent /usr/bin/rear-agent
# To peer by Liqo, begin from an image that has liqoctl.
# The metrics, the probes.
EXPOSE 8080 8081
USER 65532:65532
ENTRYPOINT ["/usr/bin/rear-agent"]
CMD ["--broker-transport=http", "--broker-cert-path=/etc/agent/certs"]
