// The Prometheus operator, of which the definitions are needed: pinned here, fetched by `cargo xtask setup`.
module rear.fluidos.eu/testbed/prometheus-operator

go 1.26.0

require github.com/prometheus-operator/prometheus-operator v0.85.0
