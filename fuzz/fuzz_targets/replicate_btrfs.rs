//! covers: replicate/wire/btrfs
#![cfg_attr(fuzzing, no_main)]

fourfold_fuzz::target!(fourfold_fuzz::replicate::btrfs_stream);
