//! MKNOD, RFC 1813 3.3.11.

use wire::{Malformed, Reader, Writer};

pub use super::create::{Res, ResFail, ResOk};
use super::types::{DirOpArgs, FileType, Sattr3, SpecData};
use crate::wire::xdr::{Decode, Encode, record};

/// mknoddata3: the object to make.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MknodData {
    Chr(Sattr3, SpecData),
    Blk(Sattr3, SpecData),
    Sock(Sattr3),
    Fifo(Sattr3),
    /// A type that MKNOD does not make, NFS3ERR_BADTYPE.
    Other(FileType),
}

impl Decode<'_> for MknodData {
    fn decode(r: &mut Reader<'_>) -> Result<Self, Malformed> {
        Ok(match FileType::decode(r)? {
            FileType::CHR => Self::Chr(Sattr3::decode(r)?, SpecData::decode(r)?),
            FileType::BLK => Self::Blk(Sattr3::decode(r)?, SpecData::decode(r)?),
            FileType::SOCK => Self::Sock(Sattr3::decode(r)?),
            FileType::FIFO => Self::Fifo(Sattr3::decode(r)?),
            other => Self::Other(other),
        })
    }
}

impl Encode for MknodData {
    fn encode(&self, w: &mut Writer) {
        let mut put = |file_type: FileType, attributes: Option<&Sattr3>, device: Option<&SpecData>| {
            file_type.encode(w);
            attributes.inspect(|attributes| attributes.encode(w));
            device.inspect(|device| device.encode(w));
        };
        match self {
            Self::Chr(attributes, device) => put(FileType::CHR, Some(attributes), Some(device)),
            Self::Blk(attributes, device) => put(FileType::BLK, Some(attributes), Some(device)),
            Self::Sock(attributes) => put(FileType::SOCK, Some(attributes), None),
            Self::Fifo(attributes) => put(FileType::FIFO, Some(attributes), None),
            Self::Other(file_type) => put(*file_type, None, None),
        }
    }
}

record! {
    /// MKNOD3args.
    pub struct Request<'a> {
        pub place: DirOpArgs<'a>,
        pub what: MknodData,
    }
}
