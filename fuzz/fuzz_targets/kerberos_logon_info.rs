//! covers: kerberos/wire/logon_info
#![cfg_attr(fuzzing, no_main)]

fourfold_fuzz::target!(fourfold_fuzz::kerberos::logon_info);
