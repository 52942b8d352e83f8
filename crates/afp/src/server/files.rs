//! The commands on files, folders and forks, and a file as AFP shows it.

pub(super) mod acl;
pub(super) mod attribute;
pub(super) mod directory;
pub(super) mod entries;
pub(super) mod enumerate;
pub(super) mod file;
pub(super) mod fork;
pub(super) mod identity;
pub(super) mod lock;
pub(super) mod params;
pub(super) mod rights;
pub(super) mod set_parameters;
