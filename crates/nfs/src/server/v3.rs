//! The procedures of NFS version 3, one file each, named as in `wire/v3`.

mod access;
mod commit;
mod create;
mod fsinfo;
mod fsstat;
mod getattr;
mod link;
mod lookup;
mod mkdir;
mod mknod;
mod pathconf;
mod read;
mod readdir;
mod readdirplus;
mod readlink;
mod remove;
mod rename;
mod rmdir;
mod setattr;
mod symlink;
mod target;
#[cfg(test)]
mod tests;
mod write;

pub(super) use lookup::look;
pub(super) use readdir::{listed, listed_name, page};
pub(super) use target::{Target, file_type, size};
pub(super) use write::EarlyFileWrite;

use conn::Reservation;
use wire::Writer;

use super::answer::{Answer, AnswerStatus};
use super::call::Call;
use super::recalling::Attempts;
use crate::wire::v3::Arguments;
use crate::wire::v3::types::Results;

/// The most data of one READ or WRITE, in bytes.
pub(crate) const MAX_DATA: u32 = 1 << 20;
/// The most bytes of one READDIR or READDIRPLUS.
pub(crate) const MAX_LISTING: u32 = 1 << 20;

/// The most data, and the longest listing, if the whole reply must fit one datagram.
const IN_A_DATAGRAM: u32 = 32 * 1024;

impl Call<'_> {
    /// The most data of one READ or WRITE over the call's transport.
    fn max_data(&self) -> u32 {
        if self.origin.datagram { IN_A_DATAGRAM } else { MAX_DATA }
    }

    /// The longest READDIR or READDIRPLUS over the call's transport and with the memory reserved
    /// for it.
    fn max_listing(&self) -> u32 {
        let most = if self.origin.datagram { IN_A_DATAGRAM } else { MAX_LISTING };
        most.min(u32::try_from(self.room).unwrap_or(most))
    }
}

/// Reserves memory for the longest possible reply to a call. `None` if the connection has ended in
/// the meantime.
pub(crate) async fn reserved(call: &mut Call<'_>, arguments: &Arguments<'_>) -> Option<Reservation> {
    let listing = match arguments {
        Arguments::Read(request) => return read::reserved(call, request).await,
        Arguments::ReadDir(request) => request.count,
        Arguments::ReadDirPlus(request) => request.maxcount,
        _ => return Some(Reservation::default()), // their replies are short
    };
    let (reserved, room) = call.memory.reserve_up_to(listing.min(MAX_LISTING) as usize);
    call.room = room;
    Some(reserved)
}

/// Runs the procedure that has these arguments. Repeats it after another client has given back a
/// conflicting lease.
pub(crate) async fn dispatch(call: &Call<'_>, arguments: &Arguments<'_>, w: &mut Writer) -> Answer {
    let (start, mut attempts) = (w.len(), Attempts::default());
    loop {
        let answer = match arguments {
            Arguments::Null(()) => Answer::default(),
            Arguments::GetAttr(request) => put(w, &getattr::getattr(call, request)),
            Arguments::SetAttr(request) => put(w, &setattr::setattr(call, request)),
            Arguments::LookUp(request) => lookup::lookup(call, request, w),
            Arguments::Access(request) => put(w, &access::access(call, request)),
            Arguments::ReadLink(request) => readlink::readlink(call, request, w),
            Arguments::Read(request) => read::read(call, request, w).await,
            Arguments::Write(request) => put(w, &write::write(call, request).await),
            Arguments::Create(request) => create::create(call, request, w),
            Arguments::MkDir(request) => mkdir::mkdir(call, request, w),
            Arguments::SymLink(request) => symlink::symlink(call, request, w),
            Arguments::MkNod(request) => mknod::mknod(call, request, w),
            Arguments::Remove(request) => put(w, &remove::remove(call, request)),
            Arguments::RmDir(request) => put(w, &rmdir::rmdir(call, request)),
            Arguments::Rename(request) => put(w, &rename::rename(call, request)),
            Arguments::Link(request) => put(w, &link::link(call, request)),
            Arguments::ReadDir(request) => readdir::readdir(call, request, w),
            Arguments::ReadDirPlus(request) => readdirplus::readdirplus(call, request, w),
            Arguments::FsStat(request) => put(w, &fsstat::fsstat(call, request)),
            Arguments::FsInfo(request) => put(w, &fsinfo::fsinfo(call, request)),
            Arguments::PathConf(request) => put(w, &pathconf::pathconf(call, request)),
            Arguments::Commit(request) => put(w, &commit::commit(call, request).await),
        };
        if !answer.is_jukebox() || !attempts.again(call, arguments).await {
            return answer;
        }
        w.truncate(start);
    }
}

/// Encodes the results of a procedure.
fn put(w: &mut Writer, results: &impl Results) -> Answer {
    results.encode(w);
    Answer::of(AnswerStatus::V3(results.status()))
}
