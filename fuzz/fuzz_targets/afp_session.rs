//! covers: afp/wire/session
#![cfg_attr(fuzzing, no_main)]

fourfold_fuzz::target!(fourfold_fuzz::afp_session::messages);
