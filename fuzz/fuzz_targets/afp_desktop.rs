//! covers: afp/wire/desktop
#![cfg_attr(fuzzing, no_main)]

fourfold_fuzz::target!(fourfold_fuzz::afp_extras::desktop);
