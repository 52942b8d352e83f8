//! NSM version 1, the status monitor, X/Open XNFS "Network Status Monitor Protocol". It tells other
//! hosts that this host has restarted, and learns of their restarts. A host's state number is odd
//! while it is up, and grows with each restart.

use super::xdr::{Opaque, enumeration, record};

/// The program's number.
pub const PROGRAM: u32 = 100_024;
/// The version spoken here.
pub const VERSION: u32 = 1;
/// SM_MAXSTRLEN, the longest name of a host.
pub const NAME_LIMIT: usize = 1024;

/// The name of a host.
pub type Name<'a> = Opaque<'a, NAME_LIMIT>;
/// Data that a monitor gets back when the host restarts.
pub type Private = [u8; 16];

enumeration! {
    /// The procedures.
    pub struct Procedure;
    NULL = 0,
    STAT = 1,
    MON = 2,
    UNMON = 3,
    UNMON_ALL = 4,
    SIMU_CRASH = 5,
    NOTIFY = 6,
}

enumeration! {
    /// res: whether a host is monitored.
    pub struct Res;
    STAT_SUCC = 0,
    STAT_FAIL = 1,
}

record! {
    /// sm_name, of STAT: is this host monitored?
    pub struct StatRequest<'a> {
        pub mon_name: Name<'a>,
    }

    /// sm_stat_res: the answer to STAT and MON, with this host's state.
    pub struct StatRes {
        pub res: Res,
        pub state: i32,
    }

    /// my_id, of UNMON_ALL: the program to call back, and its procedure.
    pub struct MyId<'a> {
        pub my_name: Name<'a>,
        pub my_prog: u32,
        pub my_vers: u32,
        pub my_proc: u32,
    }

    /// mon_id, of UNMON: the host to forget, and the program that no longer watches it.
    pub struct MonId<'a> {
        pub mon_name: Name<'a>,
        pub my_id: MyId<'a>,
    }

    /// mon, of MON.
    pub struct MonRequest<'a> {
        pub mon_id: MonId<'a>,
        pub private: Private,
    }

    /// sm_stat: the answer to UNMON and UNMON_ALL, this host's state.
    pub struct State {
        pub state: i32,
    }

    /// stat_chge, of NOTIFY: this host has restarted and has this state now.
    pub struct NotifyRequest<'a> {
        pub mon_name: Name<'a>,
        pub state: i32,
    }

    /// status: the call of a monitor to its client after a watched host has restarted.
    pub struct Status<'a> {
        pub mon_name: Name<'a>,
        pub state: i32,
        pub private: Private,
    }
}

#[cfg(test)]
mod tests;
