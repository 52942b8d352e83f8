//! covers: admin/archive.rs
#![cfg_attr(fuzzing, no_main)]

fourfold_fuzz::target!(fourfold_fuzz::state_archive::archive);
