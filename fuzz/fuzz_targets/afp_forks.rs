//! covers: afp/wire/fork, afp/wire/lock
#![cfg_attr(fuzzing, no_main)]

fourfold_fuzz::target!(fourfold_fuzz::afp_forks::forks);
