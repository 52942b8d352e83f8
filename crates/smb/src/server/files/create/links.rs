//! Symbolic links in a path. docs/smb.md, "Symbolic links", has the rule.
//!
//! A link on the way is followed here if it is relative and stays inside the share. Whether the link that a path ends with
//! is followed depends on what the client is going to do ([`Last`]). Where a link leads that is not followed here is told
//! to the client, which may follow it itself: MS-SMB2 3.3.5.9 and 2.2.2.2.1.

use vfs::names::{Folding, windows_view};
use vfs::{Caller, Error, Kind, MAX_LINKS, PathError, ResolvedPath, Volume};
use wire::Writer;

use super::{RequestedOpen, astray};
use crate::server::context::{Context, Failure};
use crate::server::dfs;
use crate::server::files::posix;
use crate::server::files::posix_names;
use crate::wire::Status;
use crate::wire::create::{Disposition, Options};
use crate::wire::error::{self, Symlink};
use crate::wire::security::AccessMask;

/// Access to the data of a file or the entries of a folder.
const DATA: AccessMask = AccessMask(
    AccessMask::READ_DATA.0 | AccessMask::WRITE_DATA.0 | AccessMask::APPEND_DATA.0 | AccessMask::EXECUTE.0,
);
/// Access that neither changes anything nor touches data.
const LOOKS: AccessMask = AccessMask(
    AccessMask::READ_ATTRIBUTES.0
        | AccessMask::READ_EA.0
        | AccessMask::READ_CONTROL.0
        | AccessMask::SYNCHRONIZE.0
        | AccessMask::MAXIMUM_ALLOWED.0,
);

/// How to handle a link at the end of a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Last {
    /// It is followed.
    Follow,
    /// It is followed if it leads somewhere, else it is opened itself: reading its attributes needs
    /// no target.
    FollowIfThere,
    /// The link itself is opened.
    Itself,
    /// The client is told where the link leads.
    Stop,
}

impl Last {
    fn of(context: &Context, wanted: &RequestedOpen<'_>) -> Self {
        let (access, options) = (wanted.access, wanted.options());
        let removes = access.contains(AccessMask::DELETE) || options.contains(Options::DELETE_ON_CLOSE);
        let uses_data = access.0 & DATA.0 != 0 || wanted.overwrites();
        let changes = access.difference(LOOKS) != AccessMask::NONE;
        if options.contains(Options::OPEN_REPARSE_POINT) || wanted.disposition() == Disposition::CREATE {
            return Self::Itself;
        }
        match wanted.path.stream {
            Some(_) => Self::Follow,
            None if removes && !uses_data => Self::Itself,
            None if context.is_linux() && changes && !uses_data => Self::Itself,
            None if context.is_linux() => Self::Stop,
            None if uses_data => Self::Follow,
            None => Self::FollowIfThere,
        }
    }
}

/// Where a path leads.
pub(super) struct LinkResolution {
    pub(super) resolved: ResolvedPath,
    /// The link at the end of the client's path, if it was followed. The client moves or removes
    /// the name of this link.
    pub(super) via: Option<ResolvedPath>,
}

/// Why a path leads nowhere.
enum ResolutionError {
    Path(PathError),
    Failure(Failure),
}

impl<T: Into<Failure>> From<T> for ResolutionError {
    fn from(failure: T) -> Self {
        Self::Failure(failure.into())
    }
}

/// Where the path of a CREATE leads.
pub(super) fn follow(
    context: &Context,
    volume: &Volume,
    wanted: &RequestedOpen<'_>,
    folding: Folding,
) -> Result<LinkResolution, Failure> {
    let caller = &wanted.actor.caller;
    let mut way = LinkedPath::new(context, volume, caller, folding, &wanted.path.components);
    way.is_posix = wanted.is_posix;
    let last = Last::of(context, wanted);
    let led = way.resolve(last).map_err(|failed| match failed {
        ResolutionError::Path(error) => astray(wanted, error.at, error.why),
        ResolutionError::Failure(failure) => failure,
    })?;
    let kind = led.resolved.found.as_ref().map(|found| found.attributes.kind);
    match wanted.is_posix && last == Last::Stop && kind.is_some_and(posix::is_special) {
        true => Err(Status::IO_REPARSE_TAG_NOT_HANDLED.into()), // MS-FSA 2.1.5.1.2
        false => Ok(led),
    }
}

/// The place that a path names, for something new or to be replaced: a link at its end is not followed.
pub(in crate::server) fn place(
    context: &Context,
    volume: &Volume,
    caller: &Caller,
    folding: Folding,
    components: &[Vec<u8>],
) -> Result<ResolvedPath, Failure> {
    match LinkedPath::new(context, volume, caller, folding, components).resolve(Last::Itself) {
        Ok(followed) => Ok(followed.resolved),
        Err(ResolutionError::Failure(failure)) => Err(failure),
        Err(ResolutionError::Path(error)) => Err(match error.why {
            Error::NotFound | Error::NotFolder => Status::OBJECT_PATH_NOT_FOUND.into(),
            other => other.into(),
        }),
    }
}

/// A path whose links are replaced by their targets one after another.
struct LinkedPath<'a> {
    context: &'a Context,
    volume: &'a Volume,
    caller: &'a Caller,
    folding: Folding,
    path: Vec<Vec<u8>>,
    /// From this index on the names are the client's own, not those of a link's target.
    own_from: usize,
    /// The last link among the client's own names: where it leads, and the names after it.
    link: Option<(Vec<u8>, Vec<Vec<u8>>)>,
    via: Option<ResolvedPath>,
    /// The open has the POSIX extensions.
    is_posix: bool,
}

impl<'a> LinkedPath<'a> {
    fn new(
        context: &'a Context,
        volume: &'a Volume,
        caller: &'a Caller,
        folding: Folding,
        components: &[Vec<u8>],
    ) -> Self {
        let path = components.to_vec();
        Self { context, volume, caller, folding, path, own_from: 0, link: None, via: None, is_posix: false }
    }

    fn resolve(mut self, last: Last) -> Result<LinkResolution, ResolutionError> {
        let root = self.volume.root()?;
        for _ in 0..=MAX_LINKS {
            let looked = self.volume.lookup_path(self.caller, &root, &slices(&self.path), self.folding);
            let at = match looked {
                Ok(resolved) => match &resolved.found {
                    Some(found) if self.leaves(found) => return Err(Status::PATH_NOT_COVERED.into()),
                    Some(found) if found.attributes.kind == Kind::Link => {
                        let at = self.path.len() - 1;
                        if at >= self.own_from {
                            match last {
                                Last::Itself => return Ok(LinkResolution { resolved, via: None }),
                                Last::Stop => {
                                    return Err(self.stopped(&[], &target(&resolved)?).into());
                                }
                                Last::Follow | Last::FollowIfThere => self.via = Some(resolved),
                            }
                        }
                        at
                    }
                    None if self.spell_out(self.path.len().wrapping_sub(1)) => continue,
                    None if last == Last::FollowIfThere && self.via.is_some() => return self.stop(last),
                    _ => return Ok(LinkResolution { resolved, via: self.via }),
                },
                Err(error) if error.why == Error::IsLink => error.at,
                Err(error) if error.why == Error::NotFound && self.spell_out(error.at) => continue,
                Err(PathError { why: Error::NotFound | Error::NotFolder, .. })
                    if last == Last::FollowIfThere && self.via.is_some() =>
                {
                    return self.stop(last);
                }
                Err(error) => return Err(ResolutionError::Path(error)),
            };
            if !self.put_in(&root, at)? {
                return self.stop(last);
            }
        }
        self.stop(last)
    }

    /// Whether the client has to ask where the path goes on: a link of a namespace.
    fn leaves(&self, found: &vfs::backend::Found) -> bool {
        let share = &self.context.tree().share;
        dfs::is_of_namespace(self.context, share) && dfs::is_link(share, found)
    }

    /// Replaces the link at `at` by its target. `false` if the server must not follow this link.
    fn put_in(&mut self, root: &vfs::backend::Found, at: usize) -> Result<bool, ResolutionError> {
        let link = self.volume.lookup_path(self.caller, root, &slices(&self.path[..=at]), self.folding);
        let link = link.map_err(ResolutionError::Path)?;
        if link.found.as_ref().is_some_and(|found| self.leaves(found)) {
            return Err(Status::PATH_NOT_COVERED.into());
        }
        let target = target(&link)?;
        if at >= self.own_from {
            self.link = Some((target.clone(), self.path[at + 1..].to_vec()));
        }
        let own = self.path.len() - self.own_from.max(at + 1);
        let Some(path) = spliced(&self.path, at, &target) else { return Ok(false) };
        self.own_from = path.len() - own;
        self.path = path;
        Ok(true)
    }

    /// The path leads no further. Opens the link at its end if the client only wants to look at it.
    /// Otherwise the client is told where the last of its links leads.
    fn stop(mut self, last: Last) -> Result<LinkResolution, ResolutionError> {
        match (self.via.take(), self.link.take()) {
            (Some(resolved), _) if last == Last::FollowIfThere => Ok(LinkResolution { resolved, via: None }),
            (_, Some((ref target, ref after))) => Err(self.stopped(after, target).into()),
            (_, None) => Err(Status::OBJECT_NAME_NOT_FOUND.into()), // cannot happen without a link
        }
    }

    /// Replaces a short name that the client was told by the long name.
    fn spell_out(&mut self, at: usize) -> bool {
        let Some(name) = self.path.get_mut(at).filter(|_| !self.is_posix) else { return false };
        let Some(long) = self.context.service().short_names.long(name) else { return false };
        *name = long.into();
        true
    }

    /// Tells the client where the link leads, and how much of its path follows the link.
    fn stopped(&self, after: &[Vec<u8>], target: &[u8]) -> Failure {
        let shown = |name: &[u8]| match self.is_posix {
            true => posix_names::shown_name(name),
            false => self.context.tree().share.shown(name),
        };
        let unparsed: usize = after.iter().map(|name| (shown(name).len() + 1) * 2).sum();
        let relative = !target.starts_with(b"/");
        let name = if self.is_posix { posix_names::shown_target(target) } else { shown_target(target) };
        let link = Symlink {
            unparsed_path_length: u16::try_from(unparsed).unwrap_or(u16::MAX),
            relative,
            substitute_name: name.clone(),
            print_name: name,
        };
        let mut w = Writer::new();
        link.encode(&mut w);
        let agreed = self.context.connection.negotiated();
        let contexts = agreed.is_some_and(|agreed| agreed.dialect.has_error_contexts());
        Failure { status: Status::STOPPED_ON_SYMLINK, body: error::Response::of(w.into_bytes(), contexts) }
    }
}

fn target(link: &ResolvedPath) -> Result<Vec<u8>, Status> {
    Ok(link.found.as_ref().ok_or(Status::OBJECT_NAME_NOT_FOUND)?.object.read_link()?)
}

fn slices(path: &[Vec<u8>]) -> Vec<&[u8]> {
    path.iter().map(Vec::as_slice).collect()
}

/// The path with the link replaced by its target. `None` if the target is outside the share, or if
/// the client must resolve it.
fn spliced(path: &[Vec<u8>], at: usize, target: &[u8]) -> Option<Vec<Vec<u8>>> {
    if target.starts_with(b"/") {
        return None;
    }
    let mut way = path[..at].to_vec();
    for name in target.split(|byte| *byte == b'/') {
        match name {
            b"" | b"." => {}
            b".." => drop(way.pop()?),
            name => way.push(name.to_vec()),
        }
    }
    way.extend_from_slice(&path[at + 1..]);
    Some(way)
}

/// A link's target as clients see it: each component as names of files are shown, with backslashes
/// between them.
pub(in crate::server) fn shown_target(target: &[u8]) -> Vec<u16> {
    let component = |name: &[u8]| match name {
        b"." | b".." => name.iter().copied().map(u16::from).collect(),
        name => windows_view(name),
    };
    let components: Vec<Vec<u16>> = target.split(|byte| *byte == b'/').map(component).collect();
    components.join(&u16::from(b'\\'))
}

#[cfg(test)]
mod tests;
