//! covers: iscsi/wire/scsi/access, iscsi/wire/scsi/cache, iscsi/wire/scsi/compare_and_write, iscsi/wire/scsi/get_lba_status, iscsi/wire/scsi/read, iscsi/wire/scsi/read_defect_data, iscsi/wire/scsi/unmap, iscsi/wire/scsi/verify, iscsi/wire/scsi/write, iscsi/wire/scsi/write_same
#![cfg_attr(fuzzing, no_main)]

fourfold_fuzz::target!(fourfold_fuzz::iscsi_blocks::blocks);
