//! MKNOD, RFC 1813 3.3.11.

use vfs::backend::NewKind;
use wire::Writer;

use super::create::{answer, make};
use super::target::new_name;
use crate::server::answer::Answer;
use crate::server::call::Call;
use crate::wire::v3::mknod::{MknodData, Request};
use crate::wire::v3::types::Status;

/// MKNOD, RFC 1813 3.3.11. Devices only where the share's settings allow them.
pub(super) fn mknod(call: &Call<'_>, request: &Request<'_>, w: &mut Writer) -> Answer {
    answer(call, &request.place.dir, w, |folder| {
        let (kind, wanted) = match &request.what {
            MknodData::Fifo(wanted) => (NewKind::Fifo, wanted),
            MknodData::Sock(wanted) => (NewKind::Socket, wanted),
            MknodData::Chr(..) | MknodData::Blk(..) if !folder.export.options.device_nodes => {
                return Err(Status::PERM);
            }
            MknodData::Chr(wanted, device) => (NewKind::CharDevice(device.major, device.minor), wanted),
            MknodData::Blk(wanted, device) => (NewKind::BlockDevice(device.major, device.minor), wanted),
            MknodData::Other(_) => return Err(Status::BADTYPE),
        };
        make(folder, new_name(&request.place.name)?, kind, wanted, 0o644)
    })
}
