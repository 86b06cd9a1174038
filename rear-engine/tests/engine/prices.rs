//! prices
