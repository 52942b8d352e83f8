//! What a file is besides its data: metadata, streams, extended attributes, sidecars.

pub(super) mod by_mode;
pub(super) mod description;
pub(super) mod forks;
pub(super) mod metadata;
pub(super) mod relayout;
pub(super) mod sidecars;
pub(super) mod xattrs;
