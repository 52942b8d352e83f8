//! The metadata service of macOS: Finder's searches in shares. What is inside the messages is the work of the crate `spotlight`.
//!
//! A share that cannot be searched has neither a path nor a handle, as that of a Mac without an index: Finder then says that
//! nothing was found, or looks through what it has listed.

use std::collections::BTreeMap;

use spotlight::Client;

use super::PipeHost;
use crate::wire::rpc::mdssvc::{
    LONGEST_BLOB, OpenShare, Request, close_response, command_response, flags_response, no_command_response,
};
use crate::wire::rpc::ndr::Handle;
use crate::wire::rpc::pdu::Fault;

/// How many shares a client may have open in a pipe. Macs open one pipe for each share.
const MAX_HANDLES: usize = 16;
/// The longest answer: what Macs ask for.
const LONGEST_ANSWER: u32 = 64 << 10;
/// The handle of a share that cannot be searched.
const NO_HANDLE: Handle = [0; 20];

/// The shares that a client has open in one pipe, and its searches in them.
#[derive(Default)]
pub(super) struct SearchedShares {
    open: BTreeMap<Handle, SearchedShare>,
    last: u64,
}

struct SearchedShare {
    name: String,
    client: Client,
}

/// Answers the call `operation`.
pub(super) fn call(
    host: &dyn PipeHost,
    shares: &mut SearchedShares,
    operation: u16,
    stub: &[u8],
) -> Result<Vec<u8>, Fault> {
    Ok(match Request::decode(operation, stub)?.ok_or(Fault::OPERATION_RANGE)? {
        Request::Open(asked) => shares.open(host, &asked)?,
        Request::Flags { handle } => flags_response(shares.find(host, &handle)?.is_some()),
        Request::Command { handle, blob, max_fragment, .. } => match shares.find(host, &handle)? {
            None => no_command_response(),
            Some(_) if max_fragment > LONGEST_BLOB => return Err(Fault::NO_MEMORY),
            Some(client) => {
                command_response(client.answer(&blob, max_fragment.min(LONGEST_ANSWER) as usize).ok())
            }
        },
        Request::Close { handle } => {
            shares.find(host, &handle)?;
            shares.open.remove(&handle);
            close_response(&handle)
        }
    })
}

impl SearchedShares {
    fn open(&mut self, host: &dyn PipeHost, asked: &OpenShare) -> Result<Vec<u8>, Fault> {
        let Some(store) = host.searchable(&asked.share) else { return Ok(asked.response(None)) };
        if self.open.len() >= MAX_HANDLES {
            return Err(Fault::NO_MEMORY);
        }
        self.last += 1;
        let mut handle = NO_HANDLE; // attributes, then a UUID, which is not zero
        handle[4..12].copy_from_slice(&self.last.to_le_bytes());
        let client = Client::new(store);
        let response = asked.response(Some((&client.base(), &handle)));
        self.open.insert(handle, SearchedShare { name: asked.share.clone(), client });
        Ok(response)
    }

    /// The share of a handle; none if it cannot be searched, or its user may not use it any longer. macOS and Samba call an
    /// unknown handle a mistake in the protocol.
    fn find(&mut self, host: &dyn PipeHost, handle: &Handle) -> Result<Option<&mut Client>, Fault> {
        if *handle == NO_HANDLE {
            return Ok(None);
        }
        let share = self.open.get_mut(handle).ok_or(Fault::PROTOCOL)?;
        let Some(store) = host.searchable(&share.name) else { return Ok(None) };
        share.client.renew(store);
        Ok(Some(&mut share.client))
    }
}
