// cert-manager, of which the definitions are needed: pinned here, fetched by `cargo xtask setup`.
module rear.fluidos.eu/testbed/cert-manager

go 1.26.0

require github.com/cert-manager/cert-manager v1.21.2
