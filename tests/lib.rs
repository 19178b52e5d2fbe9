//! Everything is in the integration binary.
