//! What developers and CI run.
fn main() {}
