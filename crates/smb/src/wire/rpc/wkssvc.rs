//! The workstation service, MS-WKST.

use wire::Malformed;

use super::WinError;
use super::level::{Levels, ListRequest};
use super::ndr::{Decoder, Encoder};

/// A call, MS-WKST 3.2.4, without the server's name that starts it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Request {
    GetInfo { level: u32 },
    SetInfo,
    UserEnum { list: ListRequest },
}

impl Request {
    /// The call `operation` with its arguments; none where there is no such operation.
    pub fn decode(operation: u16, stub: &[u8]) -> Result<Option<Self>, Malformed> {
        let mut d = Decoder::new(stub);
        Ok(Some(match operation {
            0 => {
                d.unique_wide_string()?;
                Self::GetInfo { level: d.u32()? }
            }
            1 => Self::SetInfo,
            2 => {
                d.unique_wide_string()?;
                Self::UserEnum { list: ListRequest::decode::<User>(&mut d)? }
            }
            _ => return Ok(None),
        }))
    }
}

/// The computer, `WKSTA_INFO_100` to `WKSTA_INFO_102`, MS-WKST 2.2.5.1 to 2.2.5.3.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Workstation {
    pub name: String,
    /// The domain or workgroup.
    pub group: String,
    pub major: u32,
    pub minor: u32,
    pub users: u32,
}

impl Levels for Workstation {
    const LISTED: &'static [u32] = &[];
    const SHOWN: &'static [u32] = &[100, 101, 102];
    const UNKNOWN: &'static [u32] = &[502, 1013, 1018, 1046];

    fn encode(&self, level: u32, e: &mut Encoder) {
        e.u32(500); // platform: NT
        e.string(&self.name);
        e.string(&self.group);
        e.u32(self.major);
        e.u32(self.minor);
        if level >= 101 {
            e.string(""); // where LAN Manager is
        }
        if level == 102 {
            e.u32(self.users);
        }
    }
}

/// A logged-on user, `WKSTA_USER_INFO_0` and `WKSTA_USER_INFO_1`, MS-WKST 2.2.5.9 and 2.2.5.10.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct User {
    pub name: String,
    pub domain: String,
    pub server: String,
}

impl Levels for User {
    const LISTED: &'static [u32] = &[0, 1];
    const SHOWN: &'static [u32] = &[];

    fn encode(&self, level: u32, e: &mut Encoder) {
        e.string(&self.name);
        if level == 1 {
            e.string(&self.domain);
            e.string(""); // other domains
            e.string(&self.server);
        }
    }
}

/// `NetrWkstaSetInfo`, MS-WKST 3.2.4.2: which argument was wrong, and a status.
pub fn set_info_response(status: WinError) -> Vec<u8> {
    let mut e = Encoder::new();
    e.null();
    e.u32(status.0);
    e.into_stub()
}
