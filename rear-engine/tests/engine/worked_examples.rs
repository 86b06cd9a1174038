//! worked_examples
