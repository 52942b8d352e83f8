//! covers: afp/wire/server_info
#![cfg_attr(fuzzing, no_main)]

fourfold_fuzz::target!(fourfold_fuzz::afp_session::server_info);
