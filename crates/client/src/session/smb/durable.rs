//! What Macs ask of a server beyond files: whether an open outlives its connection, and what the server is to Macs.
//!
//! ```text
//! CREATE, batch oplock, DH2Q ─► WRITE ─► the connection ends ─► a new session of the same client ─► CREATE, DH2C ─► READ
//! ```

use std::time::{Duration, Instant};

use ::smb::wire::aapl::{self, Caps, Fields, VolumeCaps};
use ::smb::wire::create::{self, Disposition, Options};
use ::smb::wire::create_context::request::Context;
use ::smb::wire::create_context::values::DurableFlags;
use ::smb::wire::create_context::{RawContext, tag};
use ::smb::wire::security::AccessMask;
use ::smb::wire::{Dialect, FileKey, OplockLevel};
use wire::Writer;

use super::{Smb, random};
use crate::session::{DataTransfer, MacService, OpenFileId, Reach, Session as _};
use crate::tree::Tree as _;
use crate::{Error, Result, Target};

/// How long the server shall keep the open.
const KEEP_MS: u32 = 60_000;
/// The time between two attempts: the server may not have noticed yet that the first connection is lost.
const AGAIN: Duration = Duration::from_millis(100);
/// What is written by the first session and read by the second one.
const MARK: &[u8] = b"before the connection was lost";

/// An open that is durable, of version 1 (2.x) or 2 (3.x), MS-SMB2 2.2.13.2.3 and .11.
struct DurableOpen {
    file: FileKey,
    create_guid: [u8; 16],
}

impl Smb {
    /// See [`crate::Connector::survive`]. A Mac does the same after it has slept, MS-SMB2 3.3.5.9.7 and .12.
    pub(in crate::session) fn survive(target: &Target, reach: &Reach, path: &str) -> Result<()> {
        let client = random()?;
        let mut before = Self::connect_as(target, reach, client)?;
        let open = before.open_durable(path)?;
        let file = before.files.put(open.file);
        before.start(file, DataTransfer::Write { offset: 0, data: MARK, stable: true })?;
        before.finish()?;
        drop(before);
        let mut after = Self::connect_as(target, reach, client)?;
        let given_up = Instant::now() + reach.timeout;
        let file = loop {
            match after.reopen(path, &open) {
                Err(Error::Missing(_)) if Instant::now() < given_up => std::thread::sleep(AGAIN),
                Err(Error::Missing(_)) => {
                    return Err(Error::Unsupported("coming back to an open after the connection was lost"));
                }
                other => break other?,
            }
        };
        let found = after.read(file, 0, MARK.len())?;
        after.close(file)?;
        if found == MARK { Ok(()) } else { Err(Error::Corrupt(0)) }
    }

    fn has_second_version(&self) -> bool {
        self.client.dialect().0 >= Dialect::SMB_3_0.0
    }

    fn open_durable(&mut self, path: &str) -> Result<DurableOpen> {
        let create_guid = random()?;
        let (asked, granted) = match self.has_second_version() {
            true => {
                let flags = DurableFlags::NONE;
                let asked = Context::DurableRequestV2 { timeout_ms: KEEP_MS, flags, create_guid };
                (asked, tag::DURABLE_REQUEST_V2)
            }
            false => (Context::DurableRequest, tag::DURABLE_REQUEST),
        };
        let (file, is_durable) = self.answered(
            path,
            |request| as_batch(request, &asked),
            |made| (made.file, made.contexts.iter().any(|context| *context.tag == *granted)),
        )?;
        if !is_durable {
            self.close_key(file)?;
            return Err(Error::Unsupported("an open that outlives its connection"));
        }
        Ok(DurableOpen { file, create_guid })
    }

    fn reopen(&mut self, path: &str, open: &DurableOpen) -> Result<OpenFileId> {
        let (file, create_guid) = (open.file, open.create_guid);
        let asked = match self.has_second_version() {
            true => Context::DurableReconnectV2 { file, create_guid, flags: DurableFlags::NONE },
            false => Context::DurableReconnect(file),
        };
        let key = self.create(path, |request| as_batch(request, &asked))?;
        Ok(self.files.put(key))
    }

    /// Apple's question, on an open of the share's folder.
    pub(super) fn apple(&mut self) -> Result<Option<MacService>> {
        let fields = Fields::SERVER_CAPS | Fields::VOLUME_CAPS | Fields::MODEL;
        // What macOS 14 says of itself.
        let client_caps = Caps::READ_DIR_ATTR | Caps::OSX_COPYFILE | Caps::UNIX_BASED | Caps::NFS_ACE;
        let client_caps = client_caps | Caps::READ_DIR_ATTR_V2 | Caps::HIFI;
        let mut w = Writer::new();
        aapl::Request::ServerQuery { fields, client_caps }.encode(&mut w);
        let question = RawContext { tag: tag::APPLE.into(), data: w.into_bytes().into() };
        let (file, answer) = self.answered(
            "",
            |request| {
                (request.disposition, request.options) = (Disposition::OPEN, Options::DIRECTORY_FILE);
                request.desired_access = AccessMask::READ_ATTRIBUTES.0;
                request.contexts = vec![question];
            },
            |made| {
                let answer = made.contexts.iter().find(|context| *context.tag == *tag::APPLE);
                (made.file, answer.and_then(|answer| aapl::Response::decode(&answer.data).ok()))
            },
        )?;
        self.close_key(file)?;
        self.is_mac = answer.is_some();
        Ok(match answer {
            Some(aapl::Response::ServerQuery(found)) => {
                let (server, volume) =
                    (found.server_caps.unwrap_or_default(), found.volume_caps.unwrap_or_default());
                Some(MacService {
                    full_sync: volume.contains(VolumeCaps::FULL_SYNC),
                    case_sensitive: volume.contains(VolumeCaps::CASE_SENSITIVE),
                    copies_files: server.contains(Caps::OSX_COPYFILE),
                    lists_finder_info: server.intersects(Caps::READ_DIR_ATTR | Caps::READ_DIR_ATTR_V2),
                })
            }
            _ => None,
        })
    }
}

/// Makes it an open of an existing file with a batch oplock and this context.
fn as_batch(request: &mut create::Request<'_>, asked: &Context<'static>) {
    (request.disposition, request.options) = (Disposition::OPEN, Options::NON_DIRECTORY_FILE);
    request.oplock_level = OplockLevel::BATCH;
    request.contexts = vec![asked.encode()];
}
