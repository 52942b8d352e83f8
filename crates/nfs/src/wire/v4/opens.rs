//! The operations that make, open and close files, RFC 7530 16.2, 16.4 and 16.16 to 16.19.

use super::types::*;
use super::*;

/// createtype4: the kind of an object that CREATE makes, with what only that kind has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CreateType<'a> {
    /// The text of a symbolic link.
    Link(LinkText<'a>),
    /// The major and the minor number.
    BlockDevice(u32, u32),
    CharDevice(u32, u32),
    /// The kinds with nothing else: a folder, a socket, a FIFO. CREATE refuses the rest with
    /// NFS4ERR_BADTYPE.
    Other(FileType),
}

impl<'a> Decode<'a> for CreateType<'a> {
    fn decode(r: &mut Reader<'a>) -> Result<Self, Malformed> {
        Ok(match FileType::decode(r)? {
            FileType::LNK => Self::Link(Decode::decode(r)?),
            FileType::BLK => Self::BlockDevice(r.u32_be()?, r.u32_be()?),
            FileType::CHR => Self::CharDevice(r.u32_be()?, r.u32_be()?),
            other => Self::Other(other),
        })
    }
}

impl Encode for CreateType<'_> {
    fn encode(&self, w: &mut Writer) {
        match self {
            Self::Link(text) => (FileType::LNK.encode(w), text.encode(w)),
            Self::BlockDevice(major, minor) => (FileType::BLK.encode(w), put_words(w, &[*major, *minor])),
            Self::CharDevice(major, minor) => (FileType::CHR.encode(w), put_words(w, &[*major, *minor])),
            Self::Other(kind) => (kind.encode(w), ()),
        };
    }
}

/// openflag4 and createhow4: whether OPEN makes the file, and what to do when it exists.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OpenHow<'a> {
    /// OPEN4_NOCREATE.
    Existing,
    /// UNCHECKED4: use the existing file.
    Unchecked(Fattr<'a>),
    /// GUARDED4: NFS4ERR_EXIST.
    Guarded(Fattr<'a>),
    /// EXCLUSIVE4: NFS4ERR_EXIST, unless the file has stored this verifier.
    Exclusive(Verifier),
    /// EXCLUSIVE4_1: the same, and attributes to set. Only from minor version 1.
    ExclusiveWith(Verifier, Fattr<'a>),
}

impl<'a> Decode<'a> for OpenHow<'a> {
    fn decode(r: &mut Reader<'a>) -> Result<Self, Malformed> {
        match r.u32_be()? {
            0 => return Ok(Self::Existing),
            1 => {}
            _ => return Err(Malformed("unknown opentype4")),
        }
        match r.u32_be()? {
            0 => Decode::decode(r).map(Self::Unchecked),
            1 => Decode::decode(r).map(Self::Guarded),
            2 => Decode::decode(r).map(Self::Exclusive),
            3 => Ok(Self::ExclusiveWith(Decode::decode(r)?, Decode::decode(r)?)),
            _ => Err(Malformed("unknown createmode4")),
        }
    }
}

impl Encode for OpenHow<'_> {
    fn encode(&self, w: &mut Writer) {
        match self {
            Self::Existing => w.u32_be(0),
            Self::Unchecked(attributes) => (put_words(w, &[1, 0]), attributes).1.encode(w),
            Self::Guarded(attributes) => (put_words(w, &[1, 1]), attributes).1.encode(w),
            Self::Exclusive(verifier) => (put_words(w, &[1, 2]), verifier).1.encode(w),
            Self::ExclusiveWith(verifier, attributes) => {
                put_words(w, &[1, 3]);
                verifier.encode(w);
                attributes.encode(w);
            }
        }
    }
}

/// open_claim4: which file OPEN means, and by what right.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Claim<'a> {
    /// CLAIM_NULL: this name in the current folder.
    Name(Name<'a>),
    /// CLAIM_PREVIOUS: the current file, open before the server's restart, with this delegation.
    Previous(DelegationType),
    /// CLAIM_DELEGATE_CUR: this name, by a delegation that the client holds.
    DelegatedName(StateId, Name<'a>),
    /// CLAIM_DELEGATE_PREV: this name, by a delegation from before the client's restart.
    PreviouslyDelegatedName(Name<'a>),
    /// CLAIM_FH: the current file. Only from minor version 1, like the next two.
    File,
    /// CLAIM_DELEG_CUR_FH.
    DelegatedFile(StateId),
    /// CLAIM_DELEG_PREV_FH.
    PreviouslyDelegatedFile,
}

impl<'a> Decode<'a> for Claim<'a> {
    fn decode(r: &mut Reader<'a>) -> Result<Self, Malformed> {
        match r.u32_be()? {
            0 => Decode::decode(r).map(Self::Name),
            1 => Decode::decode(r).map(Self::Previous),
            2 => Ok(Self::DelegatedName(Decode::decode(r)?, Decode::decode(r)?)),
            3 => Decode::decode(r).map(Self::PreviouslyDelegatedName),
            4 => Ok(Self::File),
            5 => Decode::decode(r).map(Self::DelegatedFile),
            6 => Ok(Self::PreviouslyDelegatedFile),
            _ => Err(Malformed("unknown open_claim_type4")),
        }
    }
}

impl Encode for Claim<'_> {
    fn encode(&self, w: &mut Writer) {
        match self {
            Self::Name(name) => (w.u32_be(0), name.encode(w)),
            Self::Previous(kind) => (w.u32_be(1), kind.encode(w)),
            Self::DelegatedName(state, name) => (w.u32_be(2), (state.encode(w), name.encode(w)).0),
            Self::PreviouslyDelegatedName(name) => (w.u32_be(3), name.encode(w)),
            Self::File => (w.u32_be(4), ()),
            Self::DelegatedFile(state) => (w.u32_be(5), state.encode(w)),
            Self::PreviouslyDelegatedFile => (w.u32_be(6), ()),
        };
    }
}

record! {
    /// CREATE4args, 16.4: every kind of object except a file.
    pub struct Create<'a> {
        pub kind: CreateType<'a>,
        pub name: Name<'a>,
        pub attributes: Fattr<'a>,
    }

    /// CLOSE4args, 16.2.
    pub struct Close {
        pub sequence: u32,
        pub state: StateId,
    }

    /// OPEN4args, 16.16.
    pub struct OpenArgs<'a> {
        pub sequence: u32,
        /// OPEN4_SHARE_ACCESS_*: [`SHARE_READ`], [`SHARE_WRITE`], and wishes for delegations (4.1).
        pub access: u32,
        /// OPEN4_SHARE_DENY_*: the same bits.
        pub deny: u32,
        pub owner: OwnerArgument<'a>,
        pub how: OpenHow<'a>,
        pub claim: Claim<'a>,
    }

    /// OPEN_CONFIRM4args, 16.18.
    pub struct OpenConfirm {
        pub state: StateId,
        pub sequence: u32,
    }

    /// OPEN_DOWNGRADE4args, 16.19.
    pub struct OpenDowngrade {
        pub state: StateId,
        pub sequence: u32,
        pub access: u32,
        pub deny: u32,
    }
}
