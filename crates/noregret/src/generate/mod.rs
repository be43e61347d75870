//! Streams with a known answer.
