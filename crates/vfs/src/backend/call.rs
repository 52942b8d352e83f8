//! The names of the methods of backends and objects, for wrappers that treat them alike.

/// A method of a backend or object that can fail. In wrappers,
/// [`Object::through`](super::Object::through) is told which one is called.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "the names of the methods")]
pub enum Call {
    Root,
    ByKey,
    Space,
    Attributes,
    SetAttributes,
    Access,
    Lookup,
    Create,
    Link,
    Remove,
    RemoveFolder,
    Rename,
    List,
    ReadLink,
    Prepare,
    ReadAt,
    WriteAt,
    Truncate,
    Allocate,
    Reserve,
    CopyRange,
    CloneRange,
    Resident,
    Sync,
    Punch,
    Seek,
    Xattr,
    SetXattr,
    RemoveXattr,
    ListXattrs,
    Guard,
    GuardEntries,
}

impl Call {
    /// Whether it changes the file.
    pub(super) fn is_change(self) -> bool {
        use Call::*;
        matches!(self, SetAttributes | Create | Link | Remove | RemoveFolder | Rename | WriteAt | Truncate)
            || matches!(self, Allocate | Reserve | CopyRange | CloneRange | Punch | SetXattr | RemoveXattr)
    }
}
