//! The control socket: `fourfold status` and similar commands use it to talk to a running server.
//!
//! A Unix socket in the state folder, for its owner only, and one for all users of the host, who may only search. Requests and responses are one line of JSON each:
//!
//! ```text
//! {"ask":"status"}            {"status":{…}}
//! {"ask":"reload"}            {"done":["what was applied"]}   or   {"refused":["fourfold.toml:3:1: error: …"]}; see below
//! {"ask":"say","text":"…"}    {"done":["the users that were told"]}; "to":{"user":"ada"}: only these, as with disconnect
//! {"ask":"disconnect","user":"ada"}   {"done":["what was ended"]}; others: see `Disconnect`
//! {"ask":"lun","do":"list"}   {"luns":[{…}]}; others: see `LunRequest`; before the answer to this and to
//!                             "reload" there may be {"progress":{…}}, every second
//! {"ask":"restore",…}         {"restored":{…}}; see `RestoreRequest`; progress as above
//! {"ask":"scrub",…}           {"scrubbed":{…}}; see `ScrubRequest`; progress as above
//! {"ask":"rights","do":"show",…}  {"rights":{…}}; others: see `RightsRequest`; progress as above
//! {"ask":"find",…}            {"found":{…}}; see `FindRequest`
//! {"ask":"backups","do":"list"} {"backups":{…}}; others: see `BackupsRequest`; progress as above
//! {"ask":"browse","do":"list"}   {"browsed":[{…}]}, {"done":[…]} or "locked"; others: see `BrowseRequest`; progress as above
//! {"ask":"snapshots"}         {"done":[]}: clients see the snapshots that there are now
//! {"ask":"caches","do":"show"}  {"caches":{…}}; others: see `CachesRequest`
//! {"ask":"streams","do":"list"} {"streams":{…}}; others: see `StreamsRequest`; progress as above
//! {"ask":"schedules"}       {"schedules":{…}}: how long this server surely keeps the schedules of its shares
//! {"ask":"slowest"}           {"slowest":[{…}]}: the slowest operations since the last such request, some seconds before at most
//! {"ask":"arguments"}         {"arguments":{…}}: what the server was started with, without passwords
//! anything else               {"refused":["…"]}
//! ```

mod advice;
mod appletalk;
mod arriving;
mod backups;
mod brief;
mod browse;
mod caches;
mod client;
mod disconnect;
mod disks;
mod doctor;
mod find;
mod links;
mod lun;
mod people;
mod restore;
mod rights;
mod schedules;
mod scrub;
mod server;
mod started;
mod status;
mod streams;
mod table;
mod waits;

pub use advice::{Advice, AdviceRequest, LoadCurve};
pub use appletalk::{AppleTalkLinkStatus, AppleTalkNode, AppleTalkRoute, AppleTalkStatus};
pub use arriving::{ArrivingStatus, NotArrived};
pub use backups::{
    BackupName, BackupPoint, BackupProblem, BackupSession, BackupState, BackupStatus, BackupVerification,
    BackupsAnswer, BackupsRequest, SessionEnd,
};
pub use brief::BriefStatus;
pub use browse::{BrowseAnswer, BrowseRequest, BrowsedStatus, NewBrowse, TypedPassphrase};
pub use caches::{
    BestMount, CacheStatus, CachesAnswer, CachesRequest, CachesStatus, HostMemory, PredictedRatios,
    ReadAheadStatus, ShareMounts, TrafficStatus,
};
pub use client::{
    AskError, ask, backups, browse, caches, disconnect, find, lun, reload, restore, rights, say, schedules,
    scrub, slowest, snapshots, started_with, status, streams,
};
pub use disconnect::Disconnect;
pub use disks::{DiskHealth, DiskStatus, FilesystemStatus, Health};
pub use doctor::{ClientDiagnosis, DoctorStatus, ProtocolAdvice, Trouble};
pub use find::{FindAnswer, FindRequest, FoundFile, FoundSnapshot, MOST_FOUND, SearchStatus};
pub use links::{LinkStatus, LinkTargetStatus};
pub use lun::{LunAnswer, LunRequest, LunSession, LunStatus, NewLunRequest, Progress};
pub use people::{leave_people, listen_to_people};
pub use restore::{MOST_NAMED, RestoreReport, RestoreRequest, RestoredEntry};
pub use rights::{
    OperationAnswer, PersonAnswer, PersonStatus, RightsAnswer, RightsEntry, RightsFinding, RightsQuestion,
    RightsReport, RightsRequest, RightsStatus, RoleStatus,
};
pub use schedules::Schedules;
pub use scrub::{ScrubFinding, ScrubReport, ScrubRequest};
pub use server::{Report, listen, remove, serve, serve_people};
pub use started::StartedWith;
pub use status::{
    AbsentShareStatus, AlertStatus, DomainStatus, LeaseStatus, Listener, ListenerStatus, LockStatus,
    MountLine, OpenFilesStatus, OpenStatus, SessionStatus, Severity, ShareStatus, SlowOperation, Status,
};
pub use streams::{
    CapacityStatus, MOST_STREAMS, NewReservation, ReservationStatus, StreamsAnswer, StreamsRequest,
    StreamsStatus, speed_words,
};
pub use waits::{LoopStatus, LoopsStatus};

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

/// The name of the socket in the state folder.
pub const SOCKET: &str = "control.sock";

/// A request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "ask", rename_all = "lowercase")]
pub enum Request {
    /// The state of the server.
    Status,
    /// Reloads the settings and accounts.
    Reload,
    /// Shows a message to connected users, if their protocol can.
    Say {
        /// The message.
        text: String,
        /// The sessions that are meant; without conditions, all.
        #[serde(default, skip_serializing_if = "Disconnect::is_all")]
        to: Disconnect,
    },
    /// Ends sessions, or closes files that they have open.
    Disconnect(Disconnect),
    /// A request about LUNs.
    Lun(LunRequest),
    /// Restores files of a snapshot.
    Restore(RestoreRequest),
    /// Looks for what is not as the server leaves it, and mends it.
    Scrub(ScrubRequest),
    /// Finds files.
    Find(FindRequest),
    /// Shows or changes the rights to a file, or looks what they are on the disk.
    Rights(RightsRequest),
    /// A request about backups of Macs.
    Backups(BackupsRequest),
    /// A request about the contents of disk images.
    Browse(BrowseRequest),
    /// A request about reserved streams.
    Streams(StreamsRequest),
    /// Looks which snapshots the shares have: another process has taken, renamed or removed some.
    Snapshots,
    /// Whether this server keeps the schedules of its shares.
    Schedules,
    /// A request about caches.
    Caches(CachesRequest),
    /// The slowest operations since the last such request.
    Slowest,
    /// The arguments that the server was started with.
    Arguments,
}

/// A response.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Response {
    /// The answer to [`Request::Status`].
    Status(Box<Status>),
    /// The answer to [`LunRequest::List`].
    Luns(Vec<LunStatus>),
    /// The answer to [`Request::Schedules`].
    Schedules(Schedules),
    /// The answer to [`Request::Slowest`].
    Slowest(Vec<SlowOperation>),
    /// The answer to [`Request::Arguments`].
    Arguments(Box<StartedWith>),
    /// The answer to [`Request::Restore`].
    Restored(Box<RestoreReport>),
    /// The answer to [`Request::Scrub`].
    Scrubbed(Box<ScrubReport>),
    /// The answer to [`Request::Find`].
    Found(Box<FindAnswer>),
    /// The answer to [`Request::Rights`].
    Rights(RightsAnswer),
    /// The answer to [`Request::Backups`].
    Backups(BackupsAnswer),
    /// The answer to [`BrowseRequest::List`] and [`BrowseRequest::Begin`].
    Browsed(Vec<BrowsedStatus>),
    /// The answer to [`Request::Streams`].
    Streams(StreamsAnswer),
    /// The image is encrypted, and the request has no passphrase, or a wrong one.
    Locked,
    /// The answer to [`CachesRequest::Show`].
    Caches(Box<CachesStatus>),
    /// The answer to [`CachesRequest::Mounts`].
    Mounts(Vec<ShareMounts>),
    /// The answer to [`CachesRequest::Advise`].
    Advice(Vec<Advice>),
    /// The request is being executed; another line follows.
    Progress(Progress),
    /// The request was executed; lines about it.
    Done(Vec<String>),
    /// The request was not executed; lines with the reasons.
    Refused(Vec<String>),
}

/// Calls `then` with the socket's path. The system allows about a hundred bytes for a path, so a
/// longer one goes through the folder's descriptor.
fn at_socket<T>(state: &Path, then: impl FnOnce(&Path) -> io::Result<T>) -> io::Result<T> {
    const LONGEST: usize = 100;
    let path = state.join(SOCKET);
    if path.as_os_str().len() <= LONGEST {
        return then(&path);
    }
    let folder = File::open(state)?;
    then(&PathBuf::from(format!("/proc/self/fd/{}/{SOCKET}", folder.as_raw_fd())))
}
