//! covers: smb/wire/cancel, smb/wire/change_notify, smb/wire/close, smb/wire/compression, smb/wire/create, smb/wire/echo
//! covers: smb/wire/flush, smb/wire/frame, smb/wire/header, smb/wire/ioctl, smb/wire/lock, smb/wire/logoff
//! covers: smb/wire/negotiate, smb/wire/negotiate_context, smb/wire/query_directory, smb/wire/query_info, smb/wire/read
//! covers: smb/wire/session_setup, smb/wire/set_info, smb/wire/smb1, smb/wire/transform, smb/wire/tree_connect
//! covers: smb/wire/tree_disconnect, smb/wire/values, smb/wire/write, smb/wire/buffers
#![cfg_attr(fuzzing, no_main)]

fourfold_fuzz::target!(fourfold_fuzz::smb_messages::requests);
