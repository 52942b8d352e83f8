//! covers: iscsi/wire/scsi/diagnostic, iscsi/wire/scsi/format_unit, iscsi/wire/scsi/inquiry, iscsi/wire/scsi/log
//! covers: iscsi/wire/scsi/maintenance, iscsi/wire/scsi/mode, iscsi/wire/scsi/read_capacity, iscsi/wire/scsi/report_luns
//! covers: iscsi/wire/scsi/request_sense, iscsi/wire/scsi/sense, iscsi/wire/scsi/service_action, iscsi/wire/scsi/start_stop, iscsi/wire/scsi/status
//! covers: iscsi/wire/scsi/vpd
#![cfg_attr(fuzzing, no_main)]

fourfold_fuzz::target!(fourfold_fuzz::iscsi_describe::messages);
