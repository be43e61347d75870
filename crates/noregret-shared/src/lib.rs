//! No code: what matters is in `Cargo.toml`.
