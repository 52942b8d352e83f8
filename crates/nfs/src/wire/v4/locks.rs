//! The operations on ranges of files, RFC 7530 16.10 to 16.12 and 16.37.

use super::types::*;
use super::*;

/// locker4: the state that a lock belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Locker<'a> {
    /// A lock owner that has no lock in this file yet: its first lock goes by an open.
    New(NewLocker<'a>),
    /// A lock owner that has locked a range of this file: its state and its sequence number.
    Known(StateId, u32),
}

impl<'a> Decode<'a> for Locker<'a> {
    fn decode(r: &mut Reader<'a>) -> Result<Self, Malformed> {
        if bool::decode(r)? {
            return Decode::decode(r).map(Self::New);
        }
        Ok(Self::Known(Decode::decode(r)?, Decode::decode(r)?))
    }
}

impl Encode for Locker<'_> {
    fn encode(&self, w: &mut Writer) {
        match self {
            Self::New(new) => {
                true.encode(w);
                new.encode(w);
            }
            Self::Known(state, sequence) => {
                false.encode(w);
                state.encode(w);
                sequence.encode(w);
            }
        }
    }
}

record! {
    /// open_to_lock_owner4.
    pub struct NewLocker<'a> {
        pub open_sequence: u32,
        pub open: StateId,
        pub sequence: u32,
        pub owner: OwnerArgument<'a>,
    }

    /// LOCK4args, 16.10. The length `u64::MAX` reaches to the end of every file.
    pub struct Lock<'a> {
        pub kind: LockType,
        /// The client had the lock before the server's restart.
        pub reclaim: bool,
        pub offset: u64,
        pub length: u64,
        pub locker: Locker<'a>,
    }

    /// LOCKT4args, 16.11.
    pub struct LockTest<'a> {
        pub kind: LockType,
        pub offset: u64,
        pub length: u64,
        pub owner: OwnerArgument<'a>,
    }

    /// LOCKU4args, 16.12.
    pub struct Unlock {
        pub kind: LockType,
        pub sequence: u32,
        pub state: StateId,
        pub offset: u64,
        pub length: u64,
    }

    /// LOCK4denied: the lock that is in the way.
    pub struct LockDenied<'a> {
        pub offset: u64,
        pub length: u64,
        pub kind: LockType,
        pub owner: OwnerArgument<'a>,
    }
}
