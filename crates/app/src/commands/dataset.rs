//! Shares as a tree whose properties are inherited: `create`, `destroy`, `rename`, `set`, `get`, `inherit`, `list`. They
//! change the settings file, and have a running server apply it.

use std::path::PathBuf;
use std::process::ExitCode;

use admin::control::{self, AskError};
use admin::settings::{Edit, EditError, Explanation, Property, Source, find_file};
use admin::{Arguments, Settings, ShareSettings};
use anyhow::Context;
use serde::Serialize;
use snapshots::{Dataset, Refusal};

use crate::cli::{DestroyShare, GetProperties, InheritProperty, RenameShare, SetProperties, Where};
use crate::host::here;
use crate::terminal::asking::patiently;
use crate::terminal::looked_at_bar::busy;
use crate::terminal::{exit, out};

mod access;
mod change;
mod create;
mod folder;
mod list;

pub(crate) use access::access;
pub(crate) use change::change_share;
pub(crate) use create::create;
pub(crate) use folder::space;
pub(crate) use list::list;

/// The settings as they are, and the arguments that they were read with.
struct CurrentSettings {
    arguments: Arguments,
    settings: Settings,
    explained: Explanation,
}

/// Why a command ends without having done anything.
enum CommandError {
    Refused(Vec<admin::Diagnostic>),
    Failed(anyhow::Error),
}

impl From<EditError> for CommandError {
    fn from(error: EditError) -> Self {
        match error {
            EditError::Refused(diagnostics) => Self::Refused(diagnostics),
            EditError::Failed(text) => Self::Failed(anyhow::Error::msg(text)),
        }
    }
}

impl From<anyhow::Error> for CommandError {
    fn from(error: anyhow::Error) -> Self {
        Self::Failed(error)
    }
}

type CommandResult<T> = Result<T, CommandError>;

fn code(done: CommandResult<()>) -> anyhow::Result<ExitCode> {
    match done {
        Ok(()) => Ok(ExitCode::SUCCESS),
        Err(CommandError::Refused(diagnostics)) => Ok(exit::refused(&diagnostics)),
        Err(CommandError::Failed(error)) => Err(error),
    }
}

impl CurrentSettings {
    fn read(place: &Where) -> CommandResult<Self> {
        Self::of(here::of_server(place)?)
    }

    fn of(arguments: Arguments) -> CommandResult<Self> {
        let (settings, explained) = Settings::load_explained(&arguments).map_err(CommandError::Refused)?;
        Ok(Self { arguments, settings, explained })
    }

    fn share(&self, name: &str) -> anyhow::Result<&ShareSettings> {
        let names = || self.names().collect::<Vec<_>>().join(", ");
        self.shares()
            .find(|share| share.name == name)
            .with_context(|| format!("there is no share {name:?}; the shares are: {}", names()))
    }

    fn shares(&self) -> impl Iterator<Item = &ShareSettings> {
        self.settings.shares.iter().chain(&self.settings.absent)
    }

    /// In the order of the tree: each share is followed by those below it.
    fn names(&self) -> impl Iterator<Item = &str> {
        let mut names: Vec<&str> = self.shares().map(|share| share.name.as_str()).collect();
        names.sort_by(|one, other| one.split('/').cmp(other.split('/')));
        names.dedup();
        names.into_iter()
    }

    /// The names of the shares below one.
    fn below(&self, name: &str) -> Vec<&str> {
        self.names().filter(|other| is_below(other, name)).collect()
    }

    fn properties(&self, name: &str) -> &[Property] {
        let found = self.explained.properties.iter().find(|(share, _)| share == name);
        found.map_or(&[], |(_, properties)| properties.as_slice())
    }

    /// Whether the folder of a share follows from its name.
    fn is_derived(&self, share: &str) -> bool {
        let path = self.properties(share).iter().find(|property| property.name == "path");
        path.is_some_and(|path| matches!(path.source, Source::Inherited(..)))
    }

    fn edit(&self) -> CommandResult<Edit> {
        Ok(Edit::open(&self.arguments)?)
    }

    /// The settings file with an entry of this share, which a server may have only on its command line.
    fn edit_of(&mut self, name: &str) -> CommandResult<(Edit, FirstFile)> {
        let path = self.share(name)?.path.clone();
        let (mut edit, first) = self.edit_of_server()?;
        if !self.arguments.shares.is_empty() && !edit.has(name)? {
            edit.add(name, Some(&path))?;
            let said = format!(
                "{name} is on the command line of the server: it is now in {}, too, which `fourfold serve` reads when it is \
                 started in {}",
                edit.path().display(),
                edit.folder().display()
            );
            out::done(said).map_err(anyhow::Error::from)?;
        }
        Ok((edit, first))
    }

    /// The settings file, which a server with a command line may lack.
    fn edit_of_server(&mut self) -> CommandResult<(Edit, FirstFile)> {
        let first = match self.arguments.shares.is_empty() {
            true => FirstFile(None),
            false => FirstFile::make(&mut self.arguments)?,
        };
        Ok((self.edit()?, first))
    }

    /// A share that is only on the command line of the server stays as long as that server runs.
    fn check_in_file(&self, edit: &mut Edit, name: &str) -> CommandResult<()> {
        if self.arguments.shares.is_empty() || edit.has(name)? {
            return Ok(());
        }
        let what = format!(
            "{name} is on the command line of the server that runs: end that server, and start it without this share"
        );
        Err(anyhow::Error::msg(what).into())
    }

    fn save(&self, edit: Edit) -> CommandResult<Settings> {
        Ok(edit.save(&self.arguments)?.0)
    }

    /// Has a running server apply the settings.
    fn reload(&self) -> CommandResult<()> {
        match patiently(|_| control::reload(&self.settings.server.state)) {
            Ok(lines) => lines.into_iter().try_for_each(out::done).map_err(anyhow::Error::from)?,
            Err(AskError::NoServer(_)) => {
                out::done("no server runs: it counts from the next start").map_err(anyhow::Error::from)?;
            }
            Err(error) => {
                let text =
                    format!("the settings file is changed, but the server has not applied it: {error}");
                return Err(CommandError::Failed(anyhow::Error::msg(text)));
            }
        }
        Ok(())
    }
}

fn is_below(name: &str, above: &str) -> bool {
    name.strip_prefix(above).is_some_and(|rest| rest.starts_with('/'))
}

fn assignment(text: &str) -> anyhow::Result<(&str, &str)> {
    text.split_once('=').ok_or_else(|| {
        exit::usage_error(format!("{text:?} is no property with a value: write PROPERTY=VALUE"))
    })
}

/// The settings file, if there was none. It is removed again unless it gets a share.
struct FirstFile(Option<PathBuf>);

impl FirstFile {
    /// Makes an empty file where the server looks for it.
    fn make(arguments: &mut Arguments) -> anyhow::Result<Self> {
        let found = arguments.config.clone().or_else(|| find_file(arguments.privileged, &arguments.folder));
        // A server that was started from the command line gets one where it was started: others of root stay as they are.
        let is_typed = !arguments.shares.is_empty();
        let is_usual = arguments.privileged && !is_typed;
        let usual = if is_usual { "/etc/fourfold/fourfold.toml" } else { "fourfold.toml" };
        let path = found.unwrap_or_else(|| usual.into());
        let whole = arguments.folder.join(&path);
        if whole.exists() {
            return Ok(Self(None));
        }
        let cannot = || format!("cannot make the settings file {}", whole.display());
        if let Some(above) = whole.parent() {
            std::fs::create_dir_all(above).with_context(cannot)?;
        }
        std::fs::File::create_new(&whole).with_context(cannot)?;
        arguments.config = Some(path);
        Ok(Self(Some(whole)))
    }

    fn keep(mut self) -> anyhow::Result<()> {
        let Some(path) = self.0.take() else { return Ok(()) };
        Ok(out::done(format!("made the settings file {}", path.display()))?)
    }
}

impl Drop for FirstFile {
    fn drop(&mut self) {
        if let Some(path) = &self.0 {
            let _ = std::fs::remove_file(path);
        }
    }
}

/// Removes a share, and its folder if that is asked for.
pub(crate) fn destroy(asked: &DestroyShare) -> anyhow::Result<ExitCode> {
    code((|| {
        let now = CurrentSettings::read(&asked.place)?;
        let share = now.share(&asked.name)?;
        let below = now.below(&asked.name);
        if !below.is_empty() && !asked.recursive {
            let what = format!("below {:?} are the shares {}", asked.name, below.join(", "));
            return Err(anyhow::anyhow!("{what}; --recursive removes them, too").into());
        }
        let folder = &share.path;
        // Those below first: their snapshots are no files of the share above.
        let all = || below.iter().rev().copied().chain([asked.name.as_str()]);
        let inside = || {
            all()
                .filter_map(|name| Some((name, &now.share(name).ok()?.path)))
                .filter(|at| at.1.starts_with(folder))
        };
        let is_ours = now.is_derived(&asked.name);
        let is_empty = folder::is_empty(folder, &below_folders(&now, &below))?;
        if asked.delete_files {
            for (name, folder) in inside() {
                folder::check_deletable(name, folder)?;
            }
        } else if !asked.keep_files && !is_empty {
            let what = format!("{} is not empty", folder.display());
            return Err(anyhow::anyhow!(
                "{what}; --keep-files leaves it as it is, --delete-files deletes all files in it"
            )
            .into());
        }
        let mut edit = now.edit()?;
        for name in all() {
            now.check_in_file(&mut edit, name)?;
            edit.remove(name)?;
        }
        if !may_go_on(asked, &all().collect::<Vec<_>>(), folder)? {
            return Ok(());
        }
        now.save(edit)?;
        now.reload()?;
        if asked.delete_files {
            busy(format!("deletes {}", folder.display()), || {
                inside().try_for_each(|(_, folder)| folder::delete(folder))
            })?;
        } else if !asked.keep_files && is_ours {
            for folder in
                below_folders(&now, &below).iter().rev().map(|path| path.as_path()).chain([&**folder])
            {
                let _ = std::fs::remove_dir(folder); // a file that came meanwhile keeps it
            }
        }
        Ok(())
    })())
}

/// Says what would be done, or asks before files are deleted.
fn may_go_on(asked: &DestroyShare, names: &[&str], folder: &std::path::Path) -> anyhow::Result<bool> {
    let (names, folder) = (names.join(", "), folder.display());
    match (asked.delete_files, asked.caution.dry_run) {
        (true, _) => asked
            .caution
            .permits(&format!("all files in {folder} are deleted, and no share of {names} stays")),
        (false, true) => {
            asked.caution.permits(&format!("no share of {names} stays; the files in {folder} do"))
        }
        (false, false) => Ok(true),
    }
}

/// The folders of these shares, those above first.
fn below_folders(now: &CurrentSettings, below: &[&str]) -> Vec<std::path::PathBuf> {
    below.iter().filter_map(|name| Some(now.share(name).ok()?.path.clone())).collect()
}

/// Renames a share and those below it.
pub(crate) fn rename(asked: &RenameShare) -> anyhow::Result<ExitCode> {
    let (name, new) = (&asked.name, &asked.new);
    code((|| {
        let now = CurrentSettings::read(&asked.place)?;
        let share = now.share(name)?;
        if is_below(new, name) {
            return Err(anyhow::anyhow!("{new:?} lies below {name:?} itself: choose another place").into());
        }
        if let Some(there) = now.names().find(|other| *other == *new) {
            return Err(anyhow::anyhow!("there is a share {there:?} already").into());
        }
        let mut edit = now.edit()?;
        now.check_in_file(&mut edit, name)?;
        edit.rename(name, new)?;
        let moved = match new.rsplit_once('/') {
            Some((above, last)) if now.is_derived(name) => {
                Some((share.path.clone(), now.share(above)?.path.join(last)))
            }
            None if now.is_derived(name) => {
                edit.set(new, "path", &share.path.to_string_lossy())?;
                None
            }
            _ => None,
        };
        if asked.dry_run {
            out::line(format_args!("dry run: the share {name} gets the name {new}"))
                .map_err(anyhow::Error::from)?;
            if let Some((from, to)) = &moved {
                let what = format!("dry run: its folder {} is moved to {}", from.display(), to.display());
                out::line(what).map_err(anyhow::Error::from)?;
            }
            return Ok(());
        }
        if let Some((from, to)) = &moved {
            folder::rename(from, to)?;
        }
        if let Err(error) = now.save(edit) {
            if let Some((from, to)) = &moved {
                folder::rename(to, from)?;
            }
            return Err(error);
        }
        now.reload()
    })())
}

/// Sets properties.
pub(crate) fn set(asked: &SetProperties) -> anyhow::Result<ExitCode> {
    code((|| {
        let mut now = CurrentSettings::read(&asked.place)?;
        let (properties, share) = asked.split();
        if properties.is_empty() {
            let what = "no property is given: write PROPERTY=VALUE before the name of the share";
            return Err(exit::usage_error(what).into());
        }
        let (mut edit, first) = match share {
            Some(share) => now.edit_of(share)?,
            None => now.edit_of_server()?,
        };
        for property in properties {
            let (key, value) = assignment(property)?;
            match share {
                Some(share) => assign(&mut edit, now.share(share)?, (key, value))?,
                None => edit.set_server(key, value)?,
            }
        }
        if asked.dry_run {
            edit.check(&now.arguments)?;
            for property in properties {
                out::line(format_args!("dry run: {}: {property}", share.unwrap_or("the server")))
                    .map_err(anyhow::Error::from)?;
            }
            return Ok(());
        }
        now.save(edit)?;
        first.keep()?;
        now.reload()
    })())
}

/// Sets a property of a share to the value that was typed.
pub(crate) fn assign(
    edit: &mut Edit,
    share: &ShareSettings,
    (key, value): (&str, &str),
) -> Result<(), EditError> {
    let name = &share.name;
    match (key, value) {
        ("name", _) => {
            return Err(EditError::Failed(format!("`fourfold rename {name} {value}` gives it another name")));
        }
        // As ZFS writes it.
        ("quota", "none") => return edit.unset(name, key).map(drop),
        _ => edit.set(name, key, value)?,
    }
    if key == "snapshot-schedule" && !value.is_empty() {
        can_be_kept(share).map_err(|error| EditError::Failed(format!("{error:#}")))?;
    }
    Ok(())
}

/// Fails for a share of which no snapshots can be taken. A folder that is missing now may be one that can.
pub(crate) fn can_be_kept(share: &ShareSettings) -> anyhow::Result<()> {
    match Dataset::find(&share.path) {
        Err(why @ Refusal::NoEngine { .. }) => Err(why).context("the schedule cannot be kept"),
        _ => Ok(()),
    }
}

/// Removes a property, so that it is inherited.
pub(crate) fn inherit(asked: &InheritProperty) -> anyhow::Result<ExitCode> {
    code((|| {
        let mut now = CurrentSettings::read(&asked.place)?;
        let (mut edit, first) = now.edit_of(&asked.name)?;
        edit.unset(&asked.name, &asked.property)?;
        for name in now.below(&asked.name).iter().filter(|_| asked.recursive) {
            edit.unset(name, &asked.property)?;
        }
        now.save(edit)?;
        first.keep()?;
        now.reload()
    })())
}

/// A property for scripts.
#[derive(Serialize)]
struct Row {
    share: String,
    property: &'static str,
    value: Option<String>,
    source: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    inherited_from: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    place: Option<String>,
}

impl Row {
    fn new(share: &str, property: &Property) -> Self {
        let (source, inherited_from, place) = match &property.source {
            Source::Local(place) => ("local", None, Some(place)),
            Source::Inherited(from, place) => ("inherited", Some(from.clone()), Some(place)),
            Source::Preset(_, place) => ("preset", None, Some(place)),
            Source::Default => ("default", None, None),
        };
        let value = property.shown();
        let place = place.map(ToString::to_string);
        Self { share: share.into(), property: property.name, value, source, inherited_from, place }
    }

    fn cells(&self) -> [String; 4] {
        let source = match &self.inherited_from {
            Some(from) => format!("inherited from {from}"),
            None => self.source.into(),
        };
        let value = self.value.clone().filter(|value| !value.is_empty()).unwrap_or_else(|| "-".into());
        [self.share.clone(), self.property.into(), value, source]
    }
}

/// Shows properties with their sources.
pub(crate) fn get(asked: &GetProperties) -> anyhow::Result<ExitCode> {
    code((|| {
        let now = CurrentSettings::read(&asked.place)?;
        let names: Vec<&str> = match asked.names.is_empty() {
            true => now.names().collect(),
            false => asked.names.iter().map(String::as_str).collect(),
        };
        let wanted: Vec<&str> = asked.properties.split(',').collect();
        for key in wanted.iter().filter(|key| **key != "all") {
            Edit::check_property(key)?;
        }
        let is_wanted =
            |property: &&Property| wanted.iter().any(|key| *key == "all" || *key == property.name);
        let mut rows = Vec::new();
        for name in names {
            now.share(name)?;
            let properties = now.properties(name).iter().filter(|property| property.name != "name");
            rows.extend(properties.filter(is_wanted).map(|property| Row::new(name, property)));
        }
        if asked.json {
            out::json(&rows)?;
        } else {
            let headings = ["NAME", "PROPERTY", "VALUE", "SOURCE"].map(str::to_owned);
            let rows = rows.iter().map(Row::cells);
            out::print(out::table(std::iter::once(headings).chain(rows))).map_err(anyhow::Error::from)?;
        }
        Ok(())
    })())
}
