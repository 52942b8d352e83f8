//! covers: iscsi/wire/scsi/extended_copy, iscsi/wire/scsi/receive_copy_results
#![cfg_attr(fuzzing, no_main)]

fourfold_fuzz::target!(fourfold_fuzz::iscsi_copy::messages);
