//! The attributes of files, RFC 7530 5, and their form fattr4.
//!
//! Not here: `mimetype` (32) and `sacl` (59).

use super::acls::{Aces, FlaggedAces, MaskedMode};
use super::locations::FsLocations;
use super::types::*;
use super::*;
use crate::wire::xdr::{Words, put_opaque};

/// settime4: how SETATTR and its like set a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SetTime4 {
    ToServerTime,
    ToClientTime(NfsTime),
}

impl Decode<'_> for SetTime4 {
    fn decode(r: &mut Reader<'_>) -> Result<Self, Malformed> {
        match r.u32_be()? {
            0 => Ok(Self::ToServerTime),
            1 => NfsTime::decode(r).map(Self::ToClientTime),
            _ => Err(Malformed("unknown time_how4")),
        }
    }
}

impl Encode for SetTime4 {
    fn encode(&self, w: &mut Writer) {
        match self {
            Self::ToServerTime => w.u32_be(0),
            Self::ToClientTime(time) => {
                w.u32_be(1);
                time.encode(w);
            }
        }
    }
}

record! {
    /// fsid4: the file system of a file.
    #[derive(Default)]
    pub struct FsId {
        pub major: u64,
        pub minor: u64,
    }

    /// specdata4: the numbers of a device.
    #[derive(Default)]
    pub struct SpecData {
        pub major: u32,
        pub minor: u32,
    }
}

record! {
    /// open_arguments4, RFC 9754: what an OPEN may ask for, as sets of the values and bits of its arguments.
    #[derive(Default)]
    pub struct OpenArguments {
        pub access: Bitmap,
        pub deny: Bitmap,
        /// OPEN4_SHARE_ACCESS_WANT_*.
        pub wants: Bitmap,
        pub claims: Bitmap,
        /// createmode4.
        pub create: Bitmap,
    }
}

impl Bitmap {
    /// Whether the attribute of this number is in the set.
    pub fn has(&self, number: u32) -> bool {
        self.get(number as usize / 32).is_some_and(|word| word >> (number % 32) & 1 == 1)
    }

    /// The attributes that are in one of two sets, or in both.
    pub fn union(&self, other: &Self) -> Self {
        let mut words = [0; BITMAP_LIMIT];
        for (word, more) in words.iter_mut().zip(self.iter()) {
            *word |= more;
        }
        for (word, more) in words.iter_mut().zip(other.iter()) {
            *word |= more;
        }
        Self::new(&words[..self.len().max(other.len())])
    }

    /// The set of these attributes. Numbers beyond the limit of a set are left out.
    pub const fn of(numbers: &[u32]) -> Self {
        let (mut words, mut len, mut at) = ([0; BITMAP_LIMIT], 0, 0);
        while at < numbers.len() {
            let word = numbers[at] as usize / 32;
            if word < BITMAP_LIMIT {
                words[word] |= 1 << (numbers[at] % 32);
                len = if word < len { len } else { word + 1 };
            }
            at += 1;
        }
        Self(Words::first(words, len))
    }

    /// Whether all attributes of the set are in another one.
    pub fn is_within(&self, other: &Self) -> bool {
        self.iter().enumerate().all(|(at, word)| word & !other.get(at).copied().unwrap_or(0) == 0)
    }
}

/// Declares [`Values`], its codec and [`Source`] from the attributes in the order of their numbers.
macro_rules! values {
    ($($constant:ident = $number:literal, $field:ident: $type:ty;)*) => {
        $(
            #[doc = concat!("The number of `", stringify!($field), "`.")]
            pub const $constant: u32 = $number;
        )*

        /// Every attribute that is encoded and decoded.
        const KNOWN: Bitmap = Bitmap::of(&[$($number),*]);

        /// Values of attributes, RFC 7530 5.8. `None` is one that is not sent.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
        pub struct Values<'a> {
            $(pub $field: Option<$type>,)*
        }

        impl<'a> Values<'a> {
            /// The values that a client sent: NFS4ERR_ATTRNOTSUPP for an attribute that is not
            /// known here, NFS4ERR_BADXDR for values that do not fit the set.
            pub fn of(sent: &Fattr<'a>) -> Result<Self, Status> {
                if !sent.which.is_within(&KNOWN) {
                    return Err(Status::ATTRNOTSUPP);
                }
                Self::read(sent).map_err(|_| Status::BADXDR)
            }

            fn read(sent: &Fattr<'a>) -> Result<Self, Malformed> {
                let (r, mut values) = (&mut Reader::new(sent.values.0), Self::default());
                $(if sent.which.has($number) {
                    values.$field = Some(Decode::decode(r)?);
                })*
                if r.remaining() == 0 { Ok(values) } else { Err(Malformed("bytes after the attributes")) }
            }
        }

        /// Where the values of attributes come from. Only those that are wanted are asked for.
        pub trait Source<'a> {
            $(
                #[doc = concat!("The value of `", stringify!($field), "`, if there is one.")]
                fn $field(&self) -> Option<$type> {
                    None
                }
            )*

            /// Writes the fattr4 of those that are in `wanted` and have a value.
            fn encode_wanted(&self, wanted: &Bitmap, w: &mut Writer)
            where
                Self: Sized,
            {
                encode(self, wanted, w);
            }
        }

        impl<'a> Source<'a> for Values<'a> {
            $(fn $field(&self) -> Option<$type> {
                self.$field
            })*
        }

        /// What the first one does not have comes from the second one.
        impl<'a, A: Source<'a>, B: Source<'a>> Source<'a> for (A, Option<B>) {
            $(fn $field(&self) -> Option<$type> {
                self.0.$field().or_else(|| self.1.as_ref()?.$field())
            })*
        }

        /// Writes the value of an attribute. Answers whether there is one.
        fn put_value<'a>(source: &impl Source<'a>, number: u32, w: &mut Writer) -> bool {
            match number {
                $($number => source.$field().inspect(|value| value.encode(w)).is_some(),)*
                _ => false,
            }
        }
    };
}

/// Writes fattr4: a word for each one of `wanted`, the length, and the values that there are.
fn encode<'a>(source: &impl Source<'a>, wanted: &Bitmap, w: &mut Writer) {
    let start = w.len();
    wanted.encode(w);
    w.u32_be(0);
    let values_at = w.len();
    let mut sent = [0; BITMAP_LIMIT];
    for (at, (word, sent)) in wanted.iter().zip(&mut sent).enumerate() {
        let mut left = *word;
        while left != 0 {
            let bit = left.trailing_zeros();
            left &= left - 1;
            if put_value(source, at as u32 * 32 + bit, w) {
                *sent |= 1 << bit;
            }
        }
    }
    let used = sent.iter().rposition(|&word| word != 0).map_or(0, |last| last + 1);
    if used < wanted.len() {
        // The last words are empty: the values stand too far behind.
        let values = w.as_bytes()[values_at..].to_vec();
        w.truncate(start);
        Bitmap::new(&sent[..used]).encode(w);
        return put_opaque(w, &values);
    }
    for (at, word) in sent[..used].iter().enumerate() {
        w.patch_u32_be(start + 4 + 4 * at, *word);
    }
    // All XDR values are padded: the sum needs no padding.
    w.patch_u32_be(values_at - 4, (w.len() - values_at) as u32);
}

values! {
    SUPPORTED_ATTRS = 0, supported_attrs: Bitmap;
    TYPE = 1, kind: FileType;
    FH_EXPIRE_TYPE = 2, fh_expire_type: u32;
    CHANGE = 3, change: u64;
    SIZE = 4, size: u64;
    LINK_SUPPORT = 5, link_support: bool;
    SYMLINK_SUPPORT = 6, symlink_support: bool;
    NAMED_ATTR = 7, named_attr: bool;
    FSID = 8, fsid: FsId;
    UNIQUE_HANDLES = 9, unique_handles: bool;
    LEASE_TIME = 10, lease_time: u32;
    RDATTR_ERROR = 11, rdattr_error: Status;
    ACL = 12, acl: Aces<'a>;
    ACLSUPPORT = 13, aclsupport: u32;
    ARCHIVE = 14, archive: bool;
    CANSETTIME = 15, cansettime: bool;
    CASE_INSENSITIVE = 16, case_insensitive: bool;
    CASE_PRESERVING = 17, case_preserving: bool;
    CHOWN_RESTRICTED = 18, chown_restricted: bool;
    FILEHANDLE = 19, filehandle: FileHandle<'a>;
    FILEID = 20, fileid: u64;
    FILES_AVAIL = 21, files_avail: u64;
    FILES_FREE = 22, files_free: u64;
    FILES_TOTAL = 23, files_total: u64;
    FS_LOCATIONS = 24, fs_locations: FsLocations<'a>;
    HIDDEN = 25, hidden: bool;
    HOMOGENEOUS = 26, homogeneous: bool;
    MAXFILESIZE = 27, maxfilesize: u64;
    MAXLINK = 28, maxlink: u32;
    MAXNAME = 29, maxname: u32;
    MAXREAD = 30, maxread: u64;
    MAXWRITE = 31, maxwrite: u64;
    MODE = 33, mode: u32;
    NO_TRUNC = 34, no_trunc: bool;
    NUMLINKS = 35, numlinks: u32;
    OWNER = 36, owner: OwnerName<'a>;
    OWNER_GROUP = 37, owner_group: OwnerName<'a>;
    QUOTA_AVAIL_HARD = 38, quota_avail_hard: u64;
    QUOTA_AVAIL_SOFT = 39, quota_avail_soft: u64;
    QUOTA_USED = 40, quota_used: u64;
    RAWDEV = 41, rawdev: SpecData;
    SPACE_AVAIL = 42, space_avail: u64;
    SPACE_FREE = 43, space_free: u64;
    SPACE_TOTAL = 44, space_total: u64;
    SPACE_USED = 45, space_used: u64;
    SYSTEM = 46, system: bool;
    TIME_ACCESS = 47, time_access: NfsTime;
    TIME_ACCESS_SET = 48, time_access_set: SetTime4;
    TIME_BACKUP = 49, time_backup: NfsTime;
    TIME_CREATE = 50, time_create: NfsTime;
    TIME_DELTA = 51, time_delta: NfsTime;
    TIME_METADATA = 52, time_metadata: NfsTime;
    TIME_MODIFY = 53, time_modify: NfsTime;
    TIME_MODIFY_SET = 54, time_modify_set: SetTime4;
    MOUNTED_ON_FILEID = 55, mounted_on_fileid: u64;
    DACL = 58, dacl: FlaggedAces<'a>;
    MODE_SET_MASKED = 74, mode_set_masked: MaskedMode;
    SUPPATTR_EXCLCREAT = 75, suppattr_exclcreat: Bitmap;
    MODE_UMASK = 81, mode_umask: MaskedMode;
    XATTR_SUPPORT = 82, xattr_support: bool;
    TIME_DELEG_ACCESS = 84, time_deleg_access: NfsTime;
    TIME_DELEG_MODIFY = 85, time_deleg_modify: NfsTime;
    OPEN_ARGUMENTS = 86, open_arguments: OpenArguments;
}

impl<'a> Decode<'a> for Values<'a> {
    fn decode(r: &mut Reader<'a>) -> Result<Self, Malformed> {
        Self::of(&Fattr::decode(r)?).map_err(|_| Malformed("attributes that are not known or do not fit"))
    }
}

impl Encode for Values<'_> {
    fn encode(&self, w: &mut Writer) {
        self.encode_wanted(&KNOWN, w);
    }
}
