//! The program `fourfold`.
fn main() {}
