//! covers: bench/session, bench/discover
#![cfg_attr(fuzzing, no_main)]

fourfold_fuzz::target!(fourfold_fuzz::bench::answers);
