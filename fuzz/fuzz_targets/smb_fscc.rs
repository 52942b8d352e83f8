//! covers: smb/wire/fscc, smb/wire/layout, smb/wire/text, smb/wire/time
#![cfg_attr(fuzzing, no_main)]

fourfold_fuzz::target!(fourfold_fuzz::smb_info::fscc);
