//! covers: smb/server/clients/durable/note
#![cfg_attr(fuzzing, no_main)]

fourfold_fuzz::target!(fourfold_fuzz::smb_info::notes);
