//! covers: smb/wire/fscc/pattern
#![cfg_attr(fuzzing, no_main)]

fourfold_fuzz::target!(fourfold_fuzz::smb_info::pattern);
