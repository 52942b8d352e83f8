//! covers: iscsi/wire/pdu, iscsi/wire/digest, iscsi/wire/layout
#![cfg_attr(fuzzing, no_main)]

fourfold_fuzz::target!(fourfold_fuzz::iscsi_pdu::messages);
