//! covers: smb/wire/rpc, dcerpc/pdu, dcerpc/ndr
#![cfg_attr(fuzzing, no_main)]

fourfold_fuzz::target!(fourfold_fuzz::smb_pipes::rpc);
