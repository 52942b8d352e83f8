//! covers: smb/wire/aapl, smb/wire/create_context
#![cfg_attr(fuzzing, no_main)]

fourfold_fuzz::target!(fourfold_fuzz::smb_messages::contexts);
