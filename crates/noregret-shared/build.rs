//! Nothing to do, but without it Cargo would not look at what builds need.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
}
