//! covers: afp/wire/dsi, afp/wire/path
#![cfg_attr(fuzzing, no_main)]

fourfold_fuzz::target!(fourfold_fuzz::afp_session::frames);
