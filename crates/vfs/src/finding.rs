//! From names and paths to files.

pub(super) mod entry_name;
pub(super) mod folded;
pub(super) mod links;
pub(super) mod own_folders;
pub(super) mod paths;
pub(super) mod whereabouts;
