//! NFS version 4.0, RFC 7530: COMPOUND, the current and the saved file handle, and the operations
//! that look at files. The operations that are not built yet are answered NFS4ERR_NOTSUPP.

mod attributes;
mod looking;
mod place;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use wire::{Reader, Writer};

use super::rpc::Call;
use crate::wire::rpc::Outcome;
use crate::wire::v4::types::{Attributes, Status};
use crate::wire::v4::{COMPOUND, Head, Operation, OperationNumber, ReplyHead};
use crate::wire::xdr::{Decode, Encode};
use place::Place;

/// Runs the procedure that a call names.
pub(super) fn dispatch(call: &Call<'_>, w: &mut Writer) -> Result<(), Outcome> {
    match call.header.procedure {
        0 => call.no_arguments(),
        COMPOUND => compound(call, w),
        _ => Err(Outcome::ProcUnavail),
    }
}

/// The state of one COMPOUND between its operations, RFC 7530 15.2.
struct Compound<'c> {
    call: &'c Call<'c>,
    current: Option<Arc<Place>>,
    saved: Option<Arc<Place>>,
}

fn compound(call: &Call<'_>, w: &mut Writer) -> Result<(), Outcome> {
    let r = &mut Reader::new(call.arguments);
    let head = Head::decode(r).map_err(|_| Outcome::GarbageArgs)?;
    // Only minor version 0 is built.
    let refusal = if head.minor > 0 { Some(Status::MINOR_VERS_MISMATCH) } else { head.refusal() };
    let start = w.len();
    ReplyHead { status: refusal.unwrap_or(Status::OK), tag: head.tag, results: 0 }.encode(w);
    if refusal.is_some() {
        return Ok(());
    }
    let count_at = w.len() - 4;
    let mut compound = Compound { call, current: None, saved: None };
    for done in 1..=head.operations {
        let status = compound.next(r, w);
        w.patch_u32_be(count_at, done);
        w.patch_u32_be(start, status.0);
        if status != Status::OK {
            break;
        }
    }
    Ok(())
}

impl Compound<'_> {
    /// Reads and executes one operation, and writes its result.
    fn next(&mut self, r: &mut Reader<'_>, w: &mut Writer) -> Status {
        let number = OperationNumber::decode(r).ok();
        let known = number.filter(|number| number.name().is_some() && *number != OperationNumber::ILLEGAL);
        known.unwrap_or(OperationNumber::ILLEGAL).encode(w);
        let status_at = w.len();
        Status::OK.encode(w);
        let result = match (number, known) {
            (None, _) => Err(Status::BADXDR),
            (Some(_), None) => Err(Status::OP_ILLEGAL),
            (_, Some(number)) => match Operation::of(number, r) {
                Ok(operation) => self.execute(&operation, w),
                Err(_) => Err(Status::BADXDR),
            },
        };
        let status = result.err().unwrap_or(Status::OK);
        if status != Status::OK {
            w.truncate(status_at);
            status.encode(w);
        }
        status
    }

    /// Executes an operation. What follows its status is in `w`, and counts only without a failure.
    fn execute(&mut self, operation: &Operation<'_>, w: &mut Writer) -> Result<(), Status> {
        match operation {
            Operation::PutRoot(()) | Operation::PutPublic(()) => {
                self.current = Some(Arc::new(Place::root()));
            }
            Operation::PutHandle(handle) => self.current = Some(Arc::new(Place::of(self.call, handle)?)),
            Operation::GetHandle(()) => self.current()?.put_handle(self.call, w)?,
            Operation::Save(()) => self.saved = Some(self.current()?.clone()),
            Operation::Restore(()) => {
                self.current = Some(self.saved.clone().ok_or(Status::RESTOREFH)?);
            }
            Operation::LookUp(name) => {
                self.current = Some(Arc::new(self.current()?.child(self.call, name)?));
            }
            Operation::LookUpParent(()) => {
                self.current = Some(Arc::new(self.current()?.parent(self.call)?));
            }
            Operation::GetAttr(wanted) => {
                self.current()?.recall()?;
                attributes::put(self.call, self.current()?, wanted, w)?;
            }
            Operation::Verify(sent) => self.compare(sent, true)?,
            Operation::DiffersFrom(sent) => self.compare(sent, false)?,
            Operation::Access(asked) => looking::access(self.current()?, *asked, w)?,
            Operation::ReadLink(()) => looking::read_link(self.current()?, w)?,
            Operation::SecInfo(name) => {
                looking::security(self.call, self.current()?, name, w)?;
            }
            _ => return Err(Status::NOTSUPP),
        }
        Ok(())
    }

    fn current(&self) -> Result<&Arc<Place>, Status> {
        self.current.as_ref().ok_or(Status::NOFILEHANDLE)
    }

    /// VERIFY and NVERIFY: fails unless the attributes are, or are not, the same.
    fn compare(&self, sent: &Attributes<'_>, wanted: bool) -> Result<(), Status> {
        self.current()?.recall()?;
        let is_same = attributes::is_same(self.call, self.current()?, sent)?;
        match (is_same, wanted) {
            (true, false) => Err(Status::SAME),
            (false, true) => Err(Status::NOT_SAME),
            _ => Ok(()),
        }
    }
}
