//! The operations of minor version 2 on ranges of files, RFC 7862 15. The layouts are those of RFC 7863.

use super::types::*;
use super::*;

/// The most servers that a COPY may name.
const SERVERS_LIMIT: u32 = 64;

record! {
    /// ALLOCATE4args and DEALLOCATE4args, 15.1 and 15.4.
    pub struct FileRange {
        pub state: StateId,
        pub offset: u64,
        pub length: u64,
    }

    /// IO_ADVISE4args, 15.5.
    pub struct Advise {
        pub state: StateId,
        pub offset: u64,
        pub count: u64,
        pub hints: Bitmap,
    }

    /// SEEK4args, 15.11.
    pub struct Seek {
        pub state: StateId,
        pub offset: u64,
        /// data_content4.
        pub what: u32,
    }

    /// seek_res4.
    pub struct Sought {
        pub end: bool,
        pub offset: u64,
    }

    /// COPY4args, 15.2: from the saved handle to the current one.
    pub struct CopyRange {
        pub from_state: StateId,
        pub to_state: StateId,
        pub from: u64,
        pub to: u64,
        /// 0: to the end of the file.
        pub count: u64,
        pub consecutive: bool,
        pub synchronous: bool,
        pub servers: Servers,
    }

    /// COPY4resok of a copy that is complete.
    pub struct CopyReply {
        /// There is no copy to wait for.
        pub callback: Option<StateId>,
        pub count: u64,
        pub stable: StableHow,
        pub verifier: Verifier,
        pub consecutive: bool,
        pub synchronous: bool,
    }

    /// CLONE4args, 15.13: from the saved handle to the current one.
    pub struct CloneRange {
        pub from_state: StateId,
        pub to_state: StateId,
        pub from: u64,
        pub to: u64,
        /// 0: to the end of the file.
        pub count: u64,
    }
}

/// netloc4<>: the servers that have the source of a COPY. Only their number is kept; 0 stands for this server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Servers(pub u32);

impl Decode<'_> for Servers {
    fn decode(r: &mut Reader<'_>) -> Result<Self, Malformed> {
        let count = r.u32_be()?;
        if count > SERVERS_LIMIT {
            return Err(Malformed("more servers than the limit"));
        }
        for _ in 0..count {
            match r.u32_be()? {
                1 | 2 => drop(Name::decode(r)?), // a name, a URL
                3 => {
                    NetId::decode(r)?;
                    UniversalAddress::decode(r)?;
                }
                _ => return Err(Malformed("unknown netloc_type4")),
            }
        }
        Ok(Self(count))
    }
}

impl Encode for Servers {
    fn encode(&self, w: &mut Writer) {
        w.u32_be(self.0);
        (0..self.0).for_each(|_| put_words(w, &[1, 0]));
    }
}
