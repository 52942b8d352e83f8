//! covers: iscsi/wire/reservations, iscsi/wire/scsi/persistent_reserve_in, iscsi/wire/scsi/persistent_reserve_out, iscsi/wire/relayed
//! covers: iscsi/wire/scsi/reserve, iscsi/wire/scsi/status, iscsi/wire/scsi/transport_id
#![cfg_attr(fuzzing, no_main)]

fourfold_fuzz::target!(fourfold_fuzz::iscsi_reservations::messages);
