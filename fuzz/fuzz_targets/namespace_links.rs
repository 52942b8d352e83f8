//! covers: nfs/wire/v4/locations.rs
#![cfg_attr(fuzzing, no_main)]

fourfold_fuzz::target!(fourfold_fuzz::namespace::links);
