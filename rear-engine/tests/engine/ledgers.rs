//! ledgers
