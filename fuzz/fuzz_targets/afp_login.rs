//! covers: afp/wire/login, afp/wire/identity
#![cfg_attr(fuzzing, no_main)]

fourfold_fuzz::target!(fourfold_fuzz::afp_login::messages);
