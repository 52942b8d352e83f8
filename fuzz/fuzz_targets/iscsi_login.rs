//! covers: iscsi/wire/pdu/login, iscsi/wire/pdu/text
#![cfg_attr(fuzzing, no_main)]

fourfold_fuzz::target!(fourfold_fuzz::iscsi_login::messages);
