//! Calls of the server service, MS-SRVS 3.1.4.

use wire::Malformed;

use super::{Connection, OpenFile, Session, Share, Transport};
use crate::wire::rpc::level::ListRequest;
use crate::wire::rpc::ndr::Decoder;

/// A call, MS-SRVS 3.1.4. Nearly every call starts with the server's name, which is ignored: it is
/// always this server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Request {
    /// `NetrConnectionEnum`: of a share or of a client.
    ConnectionEnum {
        qualifier: Option<String>,
        list: ListRequest,
    },
    FileEnum {
        path: Option<String>,
        user: Option<String>,
        list: ListRequest,
    },
    FileGetInfo {
        file: u32,
        level: u32,
    },
    SessionEnum {
        client: Option<String>,
        user: Option<String>,
        list: ListRequest,
    },
    ShareEnum {
        list: ListRequest,
    },
    ShareGetInfo {
        share: String,
        level: u32,
    },
    ShareCheck {
        device: String,
    },
    ServerGetInfo {
        level: u32,
    },
    DiskEnum {
        level: u32,
        resume: Option<u32>,
    },
    TransportEnum {
        list: ListRequest,
    },
    RemoteTod,
    NameValidate {
        name: String,
        kind: u32,
        flags: u32,
    },
    /// `NetrShareEnumSticky`: only shares that are not special.
    ShareEnumSticky {
        list: ListRequest,
    },
    GetFileSecurity,
    /// A call that would change the server. Its arguments are ignored.
    Change(Change),
}

/// The fields before the status in the answer to a call that would change the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Change {
    /// Nothing: `NetrFileClose`, `NetrSessionDel`, `NetrShareDel` and others.
    Plain,
    /// Which argument was wrong: `NetrShareAdd`, `NetrShareSetInfo`, `NetrServerSetInfo`.
    WithArgument,
    /// A context handle: `NetrShareDelStart`, `NetrShareDelCommit`.
    WithHandle,
}

impl Request {
    /// The call `operation` with its arguments; none where there is no such operation.
    pub fn decode(operation: u16, stub: &[u8]) -> Result<Option<Self>, Malformed> {
        let change = match operation {
            11 | 13 | 18 | 19 | 25 | 27 | 40 | 41 | 57 => Some(Change::Plain),
            14 | 17 | 22 => Some(Change::WithArgument),
            37 | 38 => Some(Change::WithHandle),
            _ => None,
        };
        if let Some(change) = change {
            return Ok(Some(Self::Change(change)));
        }
        let mut d = Decoder::new(stub);
        d.unique_wide_string()?; // the server's name
        Self::after_the_name(operation, &mut d)
    }

    fn after_the_name(operation: u16, d: &mut Decoder<'_>) -> Result<Option<Self>, Malformed> {
        Ok(Some(match operation {
            8 => Self::ConnectionEnum {
                qualifier: d.unique_wide_string()?,
                list: ListRequest::decode::<Connection>(d)?,
            },
            9 => Self::FileEnum {
                path: d.unique_wide_string()?,
                user: d.unique_wide_string()?,
                list: ListRequest::decode::<OpenFile>(d)?,
            },
            10 => Self::FileGetInfo { file: d.u32()?, level: d.u32()? },
            12 => Self::SessionEnum {
                client: d.unique_wide_string()?,
                user: d.unique_wide_string()?,
                list: ListRequest::decode::<Session>(d)?,
            },
            15 => Self::ShareEnum { list: ListRequest::decode::<Share>(d)? },
            16 => Self::ShareGetInfo { share: d.wide_string()?, level: d.u32()? },
            20 => Self::ShareCheck { device: d.wide_string()? },
            21 => Self::ServerGetInfo { level: d.u32()? },
            23 => disk_enum(d)?,
            26 => Self::TransportEnum { list: ListRequest::decode::<Transport>(d)? },
            28 => Self::RemoteTod,
            33 => Self::NameValidate { name: d.wide_string()?, kind: d.u32()?, flags: d.u32()? },
            36 => Self::ShareEnumSticky { list: ListRequest::decode::<Share>(d)? },
            39 => Self::GetFileSecurity,
            _ => return Ok(None),
        }))
    }
}

/// `NetrServerDiskEnum`, MS-SRVS 3.1.4.19: its container has no union around it.
fn disk_enum(d: &mut Decoder<'_>) -> Result<Request, Malformed> {
    let (level, _count) = (d.u32()?, d.u32()?);
    if d.pointer()? {
        let (_maximum, _offset, actual) = (d.u32()?, d.u32()?, d.u32()?);
        if actual != 0 {
            return Err(Malformed("a request with a list in it"));
        }
    }
    let (_preferred_length, resume) = (d.u32()?, d.unique_u32()?);
    Ok(Request::DiskEnum { level, resume })
}
