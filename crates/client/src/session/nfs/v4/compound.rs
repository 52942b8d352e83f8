//! COMPOUND, RFC 7530 15.2: its operations, and the results of each.

use ::nfs::wire::v4::attributes::Values;
use ::nfs::wire::v4::files::CompoundOperation;
use ::nfs::wire::v4::ranges::Sought;
use ::nfs::wire::v4::sessions::{Sequence, SequenceReply};
use ::nfs::wire::v4::types::{
    Bitmap, ChangeInfo, Data, DelegationType, Fattr, FileHandle, Name, StableHow, StateId, Status, Verifier,
    XattrValue,
};
use ::nfs::wire::v4::{Head, OperationNumber as Number, ReplyHead, Tag};
use ::nfs::wire::xdr::{Decode, Encode, put_words};
use wire::{Reader, Writer};

use super::super::rpc::malformed;
use super::acl;
use super::naming::IdMapper;
use super::tree::decode_entry;
use crate::{Error, Result};

/// Operations of a request, after SEQUENCE if they are in a session.
pub(super) struct Compound<'a> {
    pub(super) minor: u32,
    pub(super) sequence: Option<Sequence>,
    pub(super) operations: &'a [CompoundOperation<'a>],
}

impl Compound<'_> {
    /// Writes the operations, and announces so many more.
    fn encode_with(&self, more: u32, w: &mut Writer) {
        let operations = u32::from(self.sequence.is_some()) + self.operations.len() as u32 + more;
        Head { tag: Tag::new(b""), minor: self.minor, operations }.encode(w);
        if let Some(sequence) = self.sequence {
            CompoundOperation::Sequence(sequence).encode(w);
        }
        self.operations.iter().for_each(|operation| operation.encode(w));
    }
}

impl Encode for Compound<'_> {
    fn encode(&self, w: &mut Writer) {
        self.encode_with(0, w);
    }
}

/// A request that ends with WRITE, up to the length of the data: RFC 7530 16.36.
pub(super) struct WriteHead<'a> {
    pub(super) request: Compound<'a>,
    pub(super) state: StateId,
    pub(super) offset: u64,
    pub(super) stable: StableHow,
    pub(super) length: u32,
}

impl Encode for WriteHead<'_> {
    fn encode(&self, w: &mut Writer) {
        self.request.encode_with(1, w);
        Number::WRITE.encode(w);
        self.state.encode(w);
        self.offset.encode(w);
        put_words(w, &[self.stable.0, self.length]);
    }
}

/// The results of a request, one after the other.
pub(super) struct CompoundResults<'a> {
    r: Reader<'a>,
    path: &'a str,
}

/// What is done with each entry of a listing: its name and its attributes.
pub(super) type EntryCallback<'a> = &'a mut dyn FnMut(&[u8], &Fattr<'_>) -> Result<()>;

/// A part of a listing.
pub(super) struct ListingPage {
    /// The cookie of the last entry.
    pub(super) last: Option<u64>,
    pub(super) verifier: Verifier,
    pub(super) is_end: bool,
}

impl<'a> CompoundResults<'a> {
    /// The results after that of SEQUENCE. `path` is what the request was about, for messages.
    pub(super) fn of(answer: &'a [u8], path: &'a str) -> Result<Self> {
        let mut results = Self { r: Reader::new(answer), path };
        let head: ReplyHead<'_> = results.next()?;
        if head.results == 0 {
            return Err(refused(head.status, path));
        }
        let rest = results.r.rest();
        results.r = Reader::new(rest);
        let mut ahead = Reader::new(rest);
        if Number::decode(&mut ahead).map_err(malformed)? == Number::SEQUENCE {
            results.take::<SequenceReply>(Number::SEQUENCE)?;
        }
        Ok(results)
    }

    fn next<T: Decode<'a>>(&mut self) -> Result<T> {
        T::decode(&mut self.r).map_err(malformed)
    }

    /// The number and the status of the next result.
    fn begin(&mut self, expected: Number) -> Result<()> {
        let (number, status): (Number, Status) = (self.next()?, self.next()?);
        if status != Status::OK {
            return Err(refused(status, self.path));
        }
        match number == expected {
            true => Ok(()),
            false => {
                Err(Error::Other(format!("{}: the result of {number:?} instead of {expected:?}", self.path)))
            }
        }
    }

    /// The result of an operation.
    pub(super) fn take<T: Decode<'a>>(&mut self, number: Number) -> Result<T> {
        self.begin(number)?;
        self.next()
    }

    /// The result of an operation whose content does not matter.
    pub(super) fn skip(&mut self, number: Number) -> Result<()> {
        self.begin(number)?;
        match number {
            Number::CREATE => {
                self.next::<ChangeInfo>()?;
                self.next::<Bitmap>().map(drop)
            }
            Number::REMOVE | Number::SETXATTR | Number::REMOVEXATTR => self.next::<ChangeInfo>().map(drop),
            _ => Ok(()), // the others that are skipped have none
        }
    }

    /// GETFH.
    pub(super) fn handle(&mut self) -> Result<Vec<u8>> {
        Ok(self.take::<FileHandle<'_>>(Number::GETFH)?.to_vec())
    }

    /// GETATTR.
    pub(super) fn values(&mut self) -> Result<Values<'a>> {
        self.take(Number::GETATTR)
    }

    /// OPEN that gives no delegation, RFC 8881 18.16.2.
    pub(super) fn opened(&mut self) -> Result<StateId> {
        let state = self.take(Number::OPEN)?;
        self.next::<ChangeInfo>()?;
        self.next::<u32>()?; // flags
        self.next::<Bitmap>()?;
        match self.next::<DelegationType>()? {
            DelegationType::NONE => {}
            DelegationType::NONE_EXT => {
                // WND4_CONTENTION and WND4_RESOURCE say whether the server will call.
                if matches!(self.next::<u32>()?, 1 | 2) {
                    self.next::<bool>()?;
                }
            }
            other => {
                return Err(Error::Other(format!(
                    "{}: a delegation that was not wanted: {other:?}",
                    self.path
                )));
            }
        }
        Ok(state)
    }

    /// READ.
    pub(super) fn read(&mut self) -> Result<&'a [u8]> {
        self.take::<bool>(Number::READ)?; // the end of the file
        Ok(self.next::<Data<'a>>()?.0)
    }

    /// WRITE: how many bytes.
    pub(super) fn written(&mut self) -> Result<u32> {
        let count = self.take(Number::WRITE)?;
        self.next::<StableHow>()?;
        self.next::<Verifier>()?;
        Ok(count)
    }

    /// READDIR.
    pub(super) fn page(&mut self, each: EntryCallback<'_>) -> Result<ListingPage> {
        let verifier = self.take(Number::READDIR)?;
        let mut page = ListingPage { last: None, verifier, is_end: false };
        while self.next::<bool>()? {
            page.last = Some(self.next()?);
            let name = self.next::<Name<'_>>()?;
            each(&name, &self.next::<Fattr<'_>>()?)?;
        }
        page.is_end = self.next()?;
        Ok(page)
    }

    /// LISTXATTRS: the cookie behind the names, and whether they are the last.
    pub(super) fn names(&mut self, names: &mut Vec<Vec<u8>>) -> Result<(u64, bool)> {
        let cookie = self.take(Number::LISTXATTRS)?;
        for _ in 0..self.next::<u32>()? {
            names.push(self.next::<Name<'_>>()?.to_vec());
        }
        Ok((cookie, self.next()?))
    }

    /// RENAME.
    pub(super) fn renamed(&mut self) -> Result<()> {
        self.take::<ChangeInfo>(Number::RENAME)?;
        self.next::<ChangeInfo>().map(drop)
    }

    /// SEEK: where the next data are; `None` behind the last ones.
    pub(super) fn sought(&mut self) -> Result<Option<u64>> {
        match self.take::<Sought>(Number::SEEK) {
            Ok(sought) => Ok((!sought.end).then_some(sought.offset)),
            Err(Error::Other(why)) if why.ends_with("NXIO") => Ok(None), // RFC 7862 15.11.3
            Err(error) => Err(error),
        }
    }

    /// GETXATTR: the length of the value.
    pub(super) fn xattr(&mut self) -> Result<usize> {
        Ok(self.take::<XattrValue<'_>>(Number::GETXATTR)?.len())
    }
}

/// Whether the server wants to get the request later: another client has to give something back first, or clients
/// reclaim what they held before a restart.
pub(super) fn asks_again(answer: &[u8], path: &str) -> Result<bool> {
    let head = ReplyHead::decode(&mut Reader::new(answer)).map_err(malformed)?;
    match head.results {
        0 => Err(refused(head.status, path)),
        _ => Ok(matches!(head.status, Status::DELAY | Status::GRACE)),
    }
}

fn refused(status: Status, path: &str) -> Error {
    match status {
        Status::NOSPC | Status::DQUOT => Error::Full,
        Status::PERM | Status::ACCESS | Status::ROFS => Error::Refused(format!("{path} {status:?}")),
        // STALE: a call of an earlier connection was executed meanwhile, and has removed the folder.
        Status::NOENT | Status::STALE | Status::NOXATTR => Error::Missing(path.to_owned()),
        Status::EXIST => Error::Exists(path.to_owned()),
        Status::NOTSUPP | Status::ATTRNOTSUPP | Status::OP_ILLEGAL => Error::Unsupported("this operation"),
        // The lease is over: this client was silent for too long, or the server was started again.
        Status::BADSESSION
        | Status::DEADSESSION
        | Status::EXPIRED
        | Status::STALE_CLIENTID
        | Status::STALE_STATEID => Error::Lost(format!("{path} {status:?}")),
        Status::MINOR_VERS_MISMATCH => Error::Unsupported("this minor version of NFS 4"),
        Status::WRONGSEC => Error::Login(format!("{path}: the server wants another login than AUTH_SYS")),
        status => Error::Other(format!("{path} {status:?}")),
    }
}

/// Results of operations, as those of each kind of answer that the client reads.
pub(in crate::session::nfs) fn decode_answer(answer: &[u8]) {
    let _ = asks_again(answer, "");
    let readers: [fn(&mut CompoundResults<'_>); 11] = [
        |r| drop(r.handle()),
        |r| drop(r.values()),
        |r| drop(r.opened()),
        |r| drop(r.read()),
        |r| drop(r.written()),
        |r| drop(r.page(&mut |name, attributes| decode_entry(name, attributes))),
        |r| drop(r.names(&mut Vec::new())),
        |r| drop(r.renamed()),
        |r| drop(r.sought()),
        |r| drop(r.values().map(|values| acl::entries(&values, &mut IdMapper::empty()))),
        |r| drop(r.xattr()),
    ];
    for read in readers {
        if let Ok(mut results) = CompoundResults::of(answer, "") {
            read(&mut results);
        }
    }
}

#[cfg(test)]
mod tests {
    use ::nfs::wire::v4::files::Write;
    use ::nfs::wire::xdr::Opaque;

    use super::*;

    fn encoded(value: &impl Encode) -> Vec<u8> {
        let mut w = Writer::new();
        value.encode(&mut w);
        w.into_bytes()
    }

    #[test]
    fn the_head_and_the_data_of_a_write_are_the_whole_request() {
        let (state, offset, stable) = (StateId::ANONYMOUS, 1 << 40, StableHow::FILE_SYNC);
        let handle = CompoundOperation::PutHandle(Opaque::new(b"abcd"));
        let write = CompoundOperation::Write(Write { state, offset, stable, data: Opaque::new(b"hello") });
        let whole = encoded(&Compound { minor: 1, sequence: None, operations: &[handle, write] });
        let request = Compound { minor: 1, sequence: None, operations: &[handle] };
        let head = encoded(&WriteHead { request, state, offset, stable, length: 5 });
        assert_eq!(whole, [&head[..], b"hello\0\0\0"].concat());
    }

    #[test]
    fn results_are_read_in_their_order_and_a_failure_ends_them() {
        // COMPOUND4res by hand, RFC 7531: NOENT, no tag, PUTFH is done, LOOKUP is not.
        let words = [2_u32, 0, 2, 22, 0, 15, 2].map(u32::to_be_bytes).concat();
        let mut results = CompoundResults::of(&words, "a/b").unwrap();
        results.skip(Number::PUTFH).unwrap();
        assert!(matches!(results.skip(Number::LOOKUP), Err(Error::Missing(path)) if path == "a/b"));
        assert!(!asks_again(&words, "").unwrap());
        // DELAY of SEQUENCE; no result at all.
        let words = [10008_u32, 0, 1, 53, 10008].map(u32::to_be_bytes).concat();
        assert!(asks_again(&words, "").unwrap());
        let words = [10021_u32, 0, 0].map(u32::to_be_bytes).concat();
        assert!(matches!(CompoundResults::of(&words, ""), Err(Error::Unsupported(_))));
        assert!(matches!(asks_again(&words, ""), Err(Error::Unsupported(_))));
    }
}
