//! CREATE, MS-SMB2 3.3.5.9 and MS-FSA 2.1.5.1.
//!
//! ```text
//! request ─► path ─► the tree: there is one? ── yes ─► disposition, rights ─► open ─► overwrite ──► reply
//!                                            └─ no ──► make it (or its folder's entry was taken: look again)
//! ```

pub(in crate::server) mod access;
mod besides;
mod existing;
mod links;
mod new;
mod path;
mod reply;
mod stream;
mod via;

use std::sync::Arc;
use std::time::Duration;

use vfs::state::Party;
use vfs::{Actor, Attributes, Error, Volume};

pub(in crate::server) use self::access::{RENAMES, as_asked, maximal, wanted as wanted_access};
pub(in crate::server) use self::links::{place, shown_target};
pub(in crate::server) use self::path::{Path, shown_stream, stream_name};
pub(in crate::server) use self::stream::{INFO, RESOURCE, named};
use crate::server::clients::app_instance::Instance;
use crate::server::clients::durable::{DurableWish, Return, inherited, persistent};
use crate::server::clients::open::{Open, OpenedObject};
use crate::server::clients::replay::ReplayCheck;
use crate::server::clients::tree::Tree;
use crate::server::clients::{durable, leases};
use crate::server::context::{Context, Failure, Outcome};
use crate::server::dfs;
use crate::server::files::{posix, previous_versions};
use crate::server::sequence::Sequence;
use crate::wire::Status;
use crate::wire::create::{Action, Disposition, Options, Request};
use crate::wire::create_context::request::Context as CreateContext;
use crate::wire::create_context::values::Lease;
use crate::wire::header::Flags;
use crate::wire::security::AccessMask;

/// How often the tree is looked up again when an entry comes or goes in the meantime.
const MOST_LOOKS: usize = 4;
/// Attributes that may be asked for, MS-FSCC 2.6.
const KNOWN_ATTRIBUTES: u32 = 0x0000_FFB7;

/// A CREATE as far as it can be judged without looking at the tree.
pub(in crate::server) struct RequestedOpen<'a> {
    request: &'a Request<'a>,
    pub(in crate::server) path: Path,
    /// It asks for the POSIX extensions.
    pub(in crate::server) is_posix: bool,
    /// It is a previous version. As on Windows, its open may ask for rights to change it, and each change is refused.
    previous: bool,
    /// Without generic bits. It may still contain MAXIMUM_ALLOWED.
    access: AccessMask,
    pub(in crate::server) asked: Vec<CreateContext<'a>>,
    pub(in crate::server) lease: Option<Lease>,
    /// The actor in the tree's tables.
    pub(in crate::server) actor: Actor,
    /// The number of the open that is made.
    pub(in crate::server) number: u64,
}

/// The result.
struct CreateResult {
    open: Open,
    action: Action,
    /// The file's attributes, if it has only data, and if nothing that this request did since they
    /// were asked for has taken time or changed them.
    plain: Option<Attributes>,
}

pub(in crate::server) async fn run(context: &Context) -> Outcome {
    let message = context.message.clone();
    let request = Request::decode(&message)?;
    let tree = context.tree();
    let Ok(volume) = tree.volume() else { return crate::server::pipes::pipe_end::open(context, &request) };
    let asked = request.contexts.iter().map(CreateContext::decode).collect::<Result<Vec<_>, _>>()?;
    let wish = DurableWish::of(&asked, context.session().dialect.is_v3())?;
    if let DurableWish::Reconnect(back) = wish {
        let lease = leases::named(context, &asked);
        let open = reconnect(context, &request, lease, back).await?;
        return reply::reconnected(context, &open).await;
    }
    let replay = context.header.flags.contains(Flags::REPLAY);
    let client = context.session().client();
    let numbered = match wish.create_guid().map(|guid| ReplayCheck::new(client, guid, replay)).transpose()? {
        Some(ReplayCheck::Again(open)) => return reply::again(context, &request, &asked, open).await,
        Some(ReplayCheck::New(numbered)) => Some(numbered),
        None => None,
    };
    let lease = leases::asked(context, &request, &asked);
    let name = dfs::below_share(context, &tree.share, &request.name)?;
    let wanted = judge(context, volume, (&request, name), asked, lease)?;
    let instance = Instance::of(&wanted.asked).filter(|_| wish.create_guid().is_some());
    if let Some(instance) = instance {
        context.service().instances.take_over(context, instance)?;
    }
    match open(context, tree, volume, &wanted).await {
        Ok(opened) => reply::finish(context, &wanted, opened, wish, numbered).await,
        Err(failure) if replay && persistent::may_be_its_own(context, wish, failure.status)? => {
            drop(numbered);
            repeated(context, &request, &wanted.asked, wish, failure).await
        }
        Err(failure) => Err(failure),
    }
}

/// A repeated CREATE collides, perhaps with the open that it has made at a server that is lost.
async fn repeated(
    context: &Context,
    request: &Request<'_>,
    asked: &[CreateContext<'_>],
    wish: DurableWish,
    failure: Failure,
) -> Outcome {
    let Some(guid) = wish.create_guid() else { return Err(failure) };
    if !inherited::wait_for_create(context, guid).await? {
        return Err(failure);
    }
    match ReplayCheck::new(context.session().client(), guid, true)? {
        ReplayCheck::Again(open) => reply::again(context, request, asked, open).await,
        ReplayCheck::New(_) => Err(failure),
    }
}

/// A client may come back before this server has seen that its old connection is lost: the open is looked for again.
async fn reconnect(
    context: &Context,
    request: &Request<'_>,
    lease: Option<Lease>,
    back: Return,
) -> Result<Arc<Open>, Failure> {
    const TRIES: u32 = 8;
    const BETWEEN: Duration = Duration::from_millis(20);
    inherited::wait_for_loss(context, back.file.persistent).await?;
    let may_come =
        |status: Status| matches!(status, Status::OBJECT_NAME_NOT_FOUND | Status::FILE_NOT_AVAILABLE);
    let mut tried = 0;
    loop {
        tried += 1;
        let back = Return { file: persistent::named(context, back)?, ..back };
        inherited::verify(context, back.file.persistent).await?;
        match durable::reconnect(context, request, lease, back) {
            Err(failure) if tried < TRIES && may_come(failure.status) => tokio::time::sleep(BETWEEN).await,
            done => return done,
        }
    }
}

/// Checks everything that does not depend on the tree.
fn judge<'a>(
    context: &Context,
    volume: &Volume,
    (request, name): (&'a Request<'a>, &[u16]),
    asked: Vec<CreateContext<'a>>,
    lease: Option<Lease>,
) -> Result<RequestedOpen<'a>, Failure> {
    check_options(request)?;
    let is_posix = posix::is_asked(context, &asked);
    let mut path = match is_posix {
        true => Path::parse_posix(&context.tree().share, name)?,
        false => Path::parse_from(context.is_mac(), &context.tree().share, name)?,
    };
    if path.folder && request.options.contains(Options::NON_DIRECTORY_FILE) {
        return Err(Status::FILE_IS_A_DIRECTORY.into());
    }
    if (path.stream.is_some() || path.data) && request.options.contains(Options::DIRECTORY_FILE) {
        return Err(Status::NOT_A_DIRECTORY.into());
    }
    let access = access::wanted(request.desired_access)?;
    if request.options.contains(Options::DELETE_ON_CLOSE)
        && access.0 & (AccessMask::DELETE.0 | AccessMask::MAXIMUM_ALLOWED.0) == 0
    {
        return Err(Status::ACCESS_DENIED.into());
    }
    let previous = previous_versions::lead(volume, &mut path, &asked)?;
    if previous && (request.overwrites() || request.options.contains(Options::DELETE_ON_CLOSE)) {
        return Err(Status::MEDIA_WRITE_PROTECTED.into());
    }
    let number = context.service().file_number();
    let key = lease.map_or_else(|| context.service().party_key(number), |lease| lease.key.0);
    let party = Party { client: context.client_id(), key: Some(key) };
    let mut actor = Actor { party, ..context.actor() }.held_by(context.holder());
    actor.parent_key = lease.and_then(leases::parent_key);
    Ok(RequestedOpen { request, path, is_posix, previous, access, asked, lease, actor, number })
}

fn check_options(request: &Request<'_>) -> Result<(), Status> {
    let options = request.options;
    if request.impersonation.0 > 3 {
        return Err(Status::BAD_IMPERSONATION_LEVEL);
    }
    if request.disposition > Disposition::OVERWRITE_IF
        || request.share_access.0 & !7 != 0
        || options.0 & 0xFF00_0000 != 0
        || request.file_attributes & !KNOWN_ATTRIBUTES != 0
        || options.contains(Options::DIRECTORY_FILE | Options::NON_DIRECTORY_FILE)
    {
        return Err(Status::INVALID_PARAMETER);
    }
    if options.intersects(Options::OPEN_BY_FILE_ID | Options::RESERVE_OPFILTER) {
        return Err(Status::NOT_SUPPORTED);
    }
    let may_be_folder =
        matches!(request.disposition, Disposition::CREATE | Disposition::OPEN | Disposition::OPEN_IF);
    if options.contains(Options::DIRECTORY_FILE) && !may_be_folder {
        return Err(Status::INVALID_PARAMETER);
    }
    Ok(())
}

impl RequestedOpen<'_> {
    pub(in crate::server) fn request(&self) -> &Request<'_> {
        self.request
    }

    fn disposition(&self) -> Disposition {
        self.request.disposition
    }

    fn options(&self) -> Options {
        self.request.options
    }

    fn overwrites(&self) -> bool {
        self.request.overwrites()
    }

    /// Whether it opens a named stream.
    pub(in crate::server) fn is_stream(&self) -> bool {
        self.path.stream.is_some()
    }
}

/// Looks up the path, and opens the file or makes it. Repeats that while the tree changes in the
/// meantime.
async fn open(
    context: &Context,
    tree: &Arc<Tree>,
    volume: &Arc<Volume>,
    wanted: &RequestedOpen<'_>,
) -> Result<CreateResult, Failure> {
    let folding = tree.folding_of(wanted.is_posix);
    for _ in 0..MOST_LOOKS {
        let way = links::follow(context, volume, wanted, folding)?;
        let opened = match &way.resolved.found {
            Some(found) => {
                let waited = persistent::refuse(context, volume, wanted, found).await?;
                match &waited {
                    Some(now) if now.attributes.links == 0 => Err(CreateFailure::again()),
                    _ => {
                        existing::open(context, tree, volume, wanted, &way, waited.as_ref().unwrap_or(found))
                            .await
                    }
                }
            }
            None => new::make(context, tree, volume, wanted, &way).await,
        };
        match opened {
            Err(failure) if failure.again => continue,
            Err(failure) => return Err(failure.failure),
            Ok(opened) => return Ok(opened),
        }
    }
    Err(Status::SHARING_VIOLATION.into())
}

/// A failure, or the news that the tree is no longer what it was.
struct CreateFailure {
    failure: Failure,
    again: bool,
}

impl CreateFailure {
    /// Another client changed the tree first.
    fn again() -> Self {
        Self { failure: Status::RETRY.into(), again: true }
    }
}

impl<T: Into<Failure>> From<T> for CreateFailure {
    fn from(failure: T) -> Self {
        Self { failure: failure.into(), again: false }
    }
}

/// Why a path leads nowhere.
fn astray(wanted: &RequestedOpen<'_>, at: usize, why: Error) -> Failure {
    let on_the_way = at + 1 < wanted.path.components.len();
    match why {
        Error::NotFound | Error::NotFolder if on_the_way => Status::OBJECT_PATH_NOT_FOUND.into(),
        other => other.into(),
    }
}

/// Adds a new open to the session: requests can use it from now on.
pub(in crate::server) fn register(context: &Context, open: Open) -> Result<Arc<Open>, Status> {
    let open = Arc::new(open);
    *context.counted.lock() = Some(Sequence::born(&open.sequence));
    context.session().opens.add(open.clone())?;
    debug_assert!(matches!(open.what, OpenedObject::File(_) | OpenedObject::Pipe(_)));
    Ok(open)
}
