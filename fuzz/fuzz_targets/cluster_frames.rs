//! covers: cluster/wire
#![cfg_attr(fuzzing, no_main)]

fourfold_fuzz::target!(fourfold_fuzz::cluster::frame);
