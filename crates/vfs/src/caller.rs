use std::sync::Arc;

/// The Unix identity that a request runs as, after squashing and mapping. Cheap to clone.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Caller {
    /// User id.
    pub uid: u32,
    /// Primary group id.
    pub gid: u32,
    /// Supplementary group ids.
    pub groups: Arc<[u32]>,
}

impl Caller {
    /// The superuser.
    pub fn root() -> Self {
        Self::new(0, 0, &[])
    }

    /// A caller with these ids.
    pub fn new(uid: u32, gid: u32, groups: &[u32]) -> Self {
        Self { uid, gid, groups: groups.into() }
    }

    /// Whether the caller belongs to the group.
    pub fn in_group(&self, gid: u32) -> bool {
        self.gid == gid || self.groups.contains(&gid)
    }
}

/// What a caller wants to do to a file, as a set of bits; or what it may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Access(pub u8);

bitflags::bitflags! {
    impl Access: u8 {
        /// Nothing.
        const NONE = 0;
        /// Read data, or list a folder.
        const READ = 4;
        /// Write data, or change a folder's entries.
        const WRITE = 2;
        /// Execute a file, or pass through a folder.
        const EXECUTE = 1;
    }
}
