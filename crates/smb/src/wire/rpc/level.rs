//! The common part of the server and the workstation service: information in levels, as single
//! items or in lists.

use wire::Malformed;

use super::WinError;
use super::ndr::{Decoder, Encoder};

/// A kind of item that clients ask for in levels.
pub trait Levels {
    /// The levels of lists.
    const LISTED: &'static [u32];
    /// The levels of single items.
    const SHOWN: &'static [u32];
    /// Other levels of the specification. Their answers have a place for a structure, which stays
    /// empty.
    const UNKNOWN: &'static [u32] = &[];

    /// Writes the structure of `level`, one of those above. Strings are written by
    /// [`Encoder::flush`].
    fn encode(&self, level: u32, e: &mut Encoder);

    /// How many bytes the structure and its strings take.
    fn size(&self, level: u32) -> usize {
        let mut e = Encoder::new();
        self.encode(level, &mut e);
        e.flush();
        e.len()
    }
}

/// The client's wishes for a list, from its `InfoStruct` on (MS-SRVS 2.2.4, all `..._ENUM_STRUCT`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListRequest {
    pub level: u32,
    /// How many bytes of list the client takes, u32::MAX for all.
    pub preferred_length: u32,
    /// Where the list continues, if the client can continue it.
    pub resume: Option<u32>,
}

impl ListRequest {
    /// The arguments of a list of `T`.
    pub fn decode<T: Levels>(d: &mut Decoder<'_>) -> Result<Self, Malformed> {
        let (level, arm) = (d.u32()?, d.u32()?);
        if level != arm {
            return Err(Malformed("a union with two levels"));
        }
        if T::LISTED.contains(&level) && d.pointer()? {
            empty_container(d)?;
        }
        let (preferred_length, resume) = (d.u32()?, d.unique_u32()?);
        Ok(Self { level, preferred_length, resume })
    }
}

/// A container as clients send it. Its list is filled in by the answer.
fn empty_container(d: &mut Decoder<'_>) -> Result<(), Malformed> {
    let (_count, buffer) = (d.u32()?, d.pointer()?);
    if buffer && d.u32()? != 0 { Err(Malformed("a request with a list in it")) } else { Ok(()) }
}

/// A part of a list, all `Netr...Enum`.
#[derive(Debug)]
pub struct ListResponse<'a, T> {
    pub level: u32,
    pub entries: &'a [T],
    /// How many items there are from the requested position on.
    pub total: usize,
    pub resume: Option<u32>,
    pub status: WinError,
}

impl<T: Levels> ListResponse<'_, T> {
    pub fn encode(&self) -> Vec<u8> {
        let mut e = Encoder::new();
        e.u32(self.level);
        e.u32(self.level);
        if T::LISTED.contains(&self.level) {
            e.pointer();
            e.count(self.entries.len());
            self.encode_entries(&mut e);
        }
        e.count(self.total);
        e.unique_u32(self.resume);
        e.u32(self.status.0);
        e.into_stub()
    }

    fn encode_entries(&self, e: &mut Encoder) {
        if self.entries.is_empty() {
            return e.null();
        }
        e.pointer();
        e.count(self.entries.len());
        self.entries.iter().for_each(|entry| entry.encode(self.level, e));
        e.flush();
    }
}

/// One item in one level, all `Netr...GetInfo`.
#[derive(Debug)]
pub struct InfoResponse<'a, T> {
    pub level: u32,
    pub info: Result<&'a T, WinError>,
}

impl<T: Levels> InfoResponse<'_, T> {
    pub fn encode(&self) -> Vec<u8> {
        let mut e = Encoder::new();
        e.u32(self.level);
        match self.info {
            Ok(info) => {
                e.pointer();
                info.encode(self.level, &mut e);
                e.flush();
                e.u32(WinError::OK.0);
            }
            Err(status) => {
                if T::SHOWN.contains(&self.level) || T::UNKNOWN.contains(&self.level) {
                    e.null();
                }
                e.u32(status.0);
            }
        }
        e.into_stub()
    }
}
