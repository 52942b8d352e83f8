//! covers: dcerpc/epm, dcerpc/tower
#![cfg_attr(fuzzing, no_main)]

fourfold_fuzz::target!(fourfold_fuzz::dcerpc::endpoints);
