//! covers: replicate/wire
#![cfg_attr(fuzzing, no_main)]

fourfold_fuzz::target!(fourfold_fuzz::replicate::stream);
