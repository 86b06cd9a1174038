//! advertisements
