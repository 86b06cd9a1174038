//! Three brokers and three nodes of etcd, each a process of its own: whatever happens to one of them, nothing is granted
//! twice, nothing that was acknowledged is lost, and all end with the same to the byte.

mod copies;
mod faults;
mod freshness;
mod guarded;
mod load;
mod measures;
mod outages;
mod trio;
