//! covers: spotlight/client
#![cfg_attr(fuzzing, no_main)]

fourfold_fuzz::target!(fourfold_fuzz::spotlight::calls);
