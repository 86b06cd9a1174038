//! explanations
