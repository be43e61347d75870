//! The command `noregret`.
fn main() {}
