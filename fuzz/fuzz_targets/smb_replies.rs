//! covers: smb/wire/error, smb/wire/oplock_break, smb/wire/server_to_client, smb/wire/status
#![cfg_attr(fuzzing, no_main)]

fourfold_fuzz::target!(fourfold_fuzz::smb_messages::replies);
