//! covers: afp/wire/command, afp/wire/dsi, afp/wire/path, afp/wire/result_code, afp/wire/version
#![cfg_attr(fuzzing, no_main)]

fourfold_fuzz::target!(fourfold_fuzz::afp_session::frames);
