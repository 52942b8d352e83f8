//! covers: iscsi/wire/keys
#![cfg_attr(fuzzing, no_main)]

fourfold_fuzz::target!(fourfold_fuzz::iscsi_login::keys);
