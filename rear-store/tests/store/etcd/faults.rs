//! What can happen to etcd: away, stopped, full, brought back to an older state.
