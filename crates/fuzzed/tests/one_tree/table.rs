//! The one table from classes of refusals to the statuses of each protocol.

use afp::wire::ResultCode as Afp;
use nfs::wire::nlm::NlmStat as Nlm;
use nfs::wire::v3::types::Status as V3;
use nfs::wire::v4::types::Status as V4;
use smb::wire::Status as Smb;

use crate::op::{Class, Protocol};

/// NLM's statuses are told apart from NFS's.
pub const NLM: i64 = 1 << 40;

struct Row {
    class: Class,
    smb: &'static [Smb],
    afp: &'static [Afp],
    nfs3: &'static [V3],
    nlm: &'static [Nlm],
    nfs4: &'static [V4],
}

macro_rules! rows {
    ($($class:ident: smb[$($smb:ident)*] afp[$($afp:ident)*] nfs3[$($v3:ident)*] nlm[$($nlm:ident)*] nfs4[$($v4:ident)*];)*) => {
        const ROWS: &[Row] = &[$(Row {
            class: Class::$class,
            smb: &[$(Smb::$smb),*],
            afp: &[$(Afp::$afp),*],
            nfs3: &[$(V3::$v3),*],
            nlm: &[$(Nlm::$nlm),*],
            nfs4: &[$(V4::$v4),*],
        }),*];
    };
}

rows! {
    NotFound: smb[OBJECT_NAME_NOT_FOUND OBJECT_PATH_NOT_FOUND] afp[OBJECT_NOT_FOUND DIR_NOT_FOUND] nfs3[NOENT] nlm[] nfs4[NOENT];
    Exists: smb[OBJECT_NAME_COLLISION] afp[OBJECT_EXISTS] nfs3[EXIST] nlm[] nfs4[EXIST];
    NotEmpty: smb[DIRECTORY_NOT_EMPTY] afp[DIR_NOT_EMPTY] nfs3[NOTEMPTY] nlm[] nfs4[NOTEMPTY];
    IsFolder: smb[FILE_IS_A_DIRECTORY] afp[OBJECT_TYPE_ERROR] nfs3[ISDIR] nlm[] nfs4[ISDIR];
    NotFolder: smb[NOT_A_DIRECTORY OBJECT_PATH_NOT_FOUND] afp[OBJECT_TYPE_ERROR DIR_NOT_FOUND OBJECT_NOT_FOUND] nfs3[NOTDIR] nlm[] nfs4[NOTDIR];
    Shared: smb[SHARING_VIOLATION] afp[DENY_CONFLICT FILE_BUSY] nfs3[ACCES] nlm[] nfs4[SHARE_DENIED FILE_OPEN ACCESS];
    InUse: smb[SHARING_VIOLATION ACCESS_DENIED] afp[FILE_BUSY] nfs3[JUKEBOX] nlm[] nfs4[FILE_OPEN];
    Locked: smb[FILE_LOCK_CONFLICT LOCK_NOT_GRANTED] afp[LOCK_ERROR] nfs3[ACCES] nlm[DENIED] nfs4[LOCKED DENIED];
    OwnRange: smb[] afp[RANGE_OVERLAP] nfs3[] nlm[] nfs4[];
    NotLocked: smb[RANGE_NOT_LOCKED] afp[RANGE_NOT_LOCKED] nfs3[] nlm[] nfs4[];
    Inhibited: smb[ACCESS_DENIED CANNOT_DELETE] afp[OBJECT_LOCKED] nfs3[PERM] nlm[] nfs4[PERM];
    NoAccess: smb[ACCESS_DENIED] afp[ACCESS_DENIED] nfs3[ACCES] nlm[] nfs4[OPENMODE ACCESS];
    Going: smb[DELETE_PENDING] afp[FILE_BUSY] nfs3[ACCES] nlm[] nfs4[FILE_OPEN ACCESS];
    Stale: smb[FILE_CLOSED] afp[] nfs3[STALE] nlm[STALE_FH] nfs4[STALE];
    NoAttribute: smb[OBJECT_NAME_NOT_FOUND NO_EAS_ON_FILE] afp[ITEM_NOT_FOUND MISC_ERROR] nfs3[] nlm[] nfs4[NOXATTR];
    Same: smb[] afp[SAME_OBJECT] nfs3[] nlm[] nfs4[];
    Unsupported: smb[NOT_SUPPORTED] afp[CALL_NOT_SUPPORTED] nfs3[NOTSUPP] nlm[] nfs4[NOTSUPP];
}

/// Whether a status of this protocol says that an operation was refused for this reason.
pub fn says(protocol: Protocol, status: i64, class: Class) -> bool {
    let row = ROWS.iter().find(|row| row.class == class).expect("every class has a row");
    match protocol {
        Protocol::Smb => row.smb.iter().any(|code| i64::from(code.0) == status),
        Protocol::Afp => row.afp.iter().any(|code| i64::from(code.0) == status),
        Protocol::Nfs3 if status & NLM != 0 => row.nlm.iter().any(|code| i64::from(code.0) == status - NLM),
        Protocol::Nfs3 => row.nfs3.iter().any(|code| i64::from(code.0) == status),
        Protocol::Nfs4 => row.nfs4.iter().any(|code| i64::from(code.0) == status),
    }
}

/// The status in the protocol's words.
pub fn name(protocol: Protocol, status: i64) -> String {
    match protocol {
        Protocol::Smb => format!("{:?}", Smb(status as u32)),
        Protocol::Afp => format!("{:?}", Afp(status as i32)),
        Protocol::Nfs3 if status & NLM != 0 => format!("NLM {:?}", Nlm((status - NLM) as u32)),
        Protocol::Nfs3 => format!("{:?}", V3(status as u32)),
        Protocol::Nfs4 => format!("{:?}", V4(status as u32)),
    }
}
