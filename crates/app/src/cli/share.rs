//! The flags of `fourfold share`, and the roles that people get with it and with `fourfold create`.

use auth::Role;
use clap::{Args, Subcommand};

use super::Where;

/// `fourfold share …`
#[derive(Debug, Subcommand)]
pub(crate) enum ShareCommand {
    /// Show who may do what in a share, and change it
    #[command(
        after_help = "WHO is an account, a group such as @studio, `everyone` with an account, or `guests` with and without one.
Several have commas between them, or flags of their own. A role takes the place of the one that WHO had. With the first
role the share becomes a team folder: those without a role may not enter any more, and `users`, `groups` and `guests`
are removed from its settings. docs/sharing.md explains the roles.

Examples:
  fourfold share access studio                             who may do what?
  fourfold share access studio --editor ada,grace          they change all files, also those of others
  fourfold share access studio --reader @office --owner ada
  fourfold share access studio --remove grace              may not enter any more
  fourfold share access inbox --drop guests --editor @office
  fourfold share access studio --json | jq '.access[].who'  for scripts

Exit codes: 0 done, 1 not done, 2 the settings or the command line were refused"
    )]
    Access(ShareAccess),
}

#[derive(Debug, Args)]
pub(crate) struct ShareAccess {
    /// Name of the share
    pub(crate) name: String,
    #[command(flatten)]
    pub(crate) roles: RoleFlags,
    /// Takes the role away
    #[arg(long, value_name = "WHO", value_delimiter = ',')]
    pub(crate) remove: Vec<String>,
    /// One JSON object, for scripts
    #[arg(long, conflicts_with_all = ["owner", "editor", "contributor", "reader", "drop", "remove"])]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) place: Where,
}

/// Roles for people.
#[derive(Debug, Default, Args)]
pub(crate) struct RoleFlags {
    /// Does everything, and says who may do what
    #[arg(long, value_name = "WHO", value_delimiter = ',')]
    owner: Vec<String>,
    /// Changes all files, also those of others
    #[arg(long, value_name = "WHO", value_delimiter = ',')]
    editor: Vec<String>,
    /// Reads everything, adds to it, and changes what is their own
    #[arg(long, value_name = "WHO", value_delimiter = ',')]
    contributor: Vec<String>,
    /// Reads everything
    #[arg(long, value_name = "WHO", value_delimiter = ',')]
    reader: Vec<String>,
    /// Puts files in, and sees nothing
    #[arg(long, value_name = "WHO", value_delimiter = ',')]
    drop: Vec<String>,
}

impl RoleFlags {
    /// Those who are to have a role.
    pub(crate) fn of(&self, role: Role) -> &[String] {
        match role {
            Role::Owner => &self.owner,
            Role::Editor => &self.editor,
            Role::Contributor => &self.contributor,
            Role::Reader => &self.reader,
            Role::Drop => &self.drop,
        }
    }

    /// Gives these people a role.
    pub(crate) fn give(&mut self, role: Role, people: Vec<String>) {
        match role {
            Role::Owner => self.owner = people,
            Role::Editor => self.editor = people,
            Role::Contributor => self.contributor = people,
            Role::Reader => self.reader = people,
            Role::Drop => self.drop = people,
        }
    }

    /// Whether nobody is to have one.
    pub(crate) fn is_empty(&self) -> bool {
        Role::ALL.into_iter().all(|role| self.of(role).is_empty())
    }
}
