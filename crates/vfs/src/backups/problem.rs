//! What can be wrong with a bundle, in words.

use std::fmt;

use crate::mac::sparse_bundle::TOKEN;
use crate::{Error, Time};

/// Something that is wrong with a bundle.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ImageProblem {
    /// A list of this name is missing, or cannot be read.
    ListMissing(String),
    /// A list of this name has no end, or is no list.
    ListBroken(String),
    /// `Info.plist` does not say how large bands are.
    NoBandSize,
    /// `Info.plist` and its copy have other sizes of bands.
    InfoDiffers {
        /// In `Info.plist`,
        info: u64,
        /// and in `Info.bckup`.
        copy: u64,
    },
    /// The Mac has found the backups damaged.
    FoundByMac {
        /// When, as the Mac says it.
        at: Option<String>,
    },
    /// There is no folder of bands.
    NoBands,
    /// A file among the bands is none.
    NoBand(String),
    /// A file of the bundle does not belong to the owner of the bundle.
    OtherOwner(String),
    /// A band is longer than bands are.
    BandTooLong {
        /// The band,
        number: u64,
        /// its length,
        size: u64,
        /// and that of a whole band.
        most: u64,
    },
    /// A band lies behind the end of the image.
    BandBeyond {
        /// The band.
        number: u64,
    },
    /// A band was there, and no Mac has removed it.
    BandMissing {
        /// The band.
        number: u64,
    },
    /// A band has other bytes than when it was closed last, and its time of change is the same.
    BandRotten {
        /// The band.
        number: u64,
        /// When it was changed last.
        modified: Time,
    },
    /// Something else than a client has changed a band since the point, so the journal does not have it.
    BandChanged {
        /// The band.
        number: u64,
    },
    /// The disk does not give the band.
    BandUnreadable {
        /// The band.
        number: u64,
        /// Why.
        error: Error,
    },
}

impl ImageProblem {
    /// A word for scripts.
    pub fn word(&self) -> &'static str {
        match self {
            Self::ListMissing(_) => "list-missing",
            Self::ListBroken(_) => "list-broken",
            Self::NoBandSize => "no-band-size",
            Self::InfoDiffers { .. } => "info-differs",
            Self::FoundByMac { .. } => "found-by-mac",
            Self::NoBands => "no-bands",
            Self::NoBand(_) => "no-band",
            Self::OtherOwner(_) => "other-owner",
            Self::BandTooLong { .. } => "band-too-long",
            Self::BandBeyond { .. } => "band-beyond",
            Self::BandMissing { .. } => "band-missing",
            Self::BandRotten { .. } => "band-rotten",
            Self::BandChanged { .. } => "band-changed",
            Self::BandUnreadable { .. } => "band-unreadable",
        }
    }

    /// Whether backups may be lost by it. Else the Mac goes on, and a person should look.
    pub fn is_damage(&self) -> bool {
        match self {
            Self::NoBand(_) | Self::OtherOwner(_) => false,
            // It is empty unless the image is encrypted.
            Self::ListMissing(name) => name.as_bytes() != TOKEN,
            Self::ListBroken(_)
            | Self::NoBandSize
            | Self::InfoDiffers { .. }
            | Self::FoundByMac { .. }
            | Self::NoBands
            | Self::BandTooLong { .. }
            | Self::BandBeyond { .. }
            | Self::BandMissing { .. }
            | Self::BandRotten { .. }
            | Self::BandChanged { .. }
            | Self::BandUnreadable { .. } => true,
        }
    }
}

impl fmt::Display for ImageProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::ListMissing(name) => write!(f, "{name} is missing, or cannot be read"),
            Self::ListBroken(name) => write!(f, "{name} is cut off, or is no property list"),
            Self::NoBandSize => f.write_str("Info.plist does not say how large bands are"),
            Self::InfoDiffers { info, copy } => {
                write!(f, "Info.plist says that bands have {info} bytes, and Info.bckup {copy}")
            }
            Self::FoundByMac { at: Some(at) } => write!(f, "the Mac has found the backups damaged, on {at}"),
            Self::FoundByMac { at: None } => f.write_str("the Mac has found the backups damaged"),
            Self::NoBands => f.write_str("the folder of bands is missing"),
            Self::NoBand(name) => write!(f, "bands/{name} is no band"),
            Self::OtherOwner(name) => {
                write!(
                    f,
                    "{name} belongs to another user than the bundle: the Mac may not be able to change it"
                )
            }
            Self::BandTooLong { number, size, most } => {
                write!(f, "bands/{number:x} has {size} bytes, and a band has {most} at most")
            }
            Self::BandBeyond { number } => write!(f, "bands/{number:x} is behind the end of the image"),
            Self::BandMissing { number } => {
                write!(f, "bands/{number:x} is missing, and no Mac has removed it")
            }
            Self::BandRotten { number, .. } => {
                write!(
                    f,
                    "bands/{number:x} has other bytes than when it was closed last: the disk has changed them"
                )
            }
            Self::BandChanged { number } => {
                write!(
                    f,
                    "bands/{number:x} was changed on the server since then, and the journal does not have it"
                )
            }
            Self::BandUnreadable { number, error } => write!(f, "bands/{number:x} cannot be read: {error}"),
        }
    }
}
