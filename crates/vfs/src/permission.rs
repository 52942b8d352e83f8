use super::{Access, Attributes, Caller, Kind};

/// What the mode bits alone let the caller do: the bits of the owner, else of the group, else of
/// all others. Exact for files without an ACL; for the owner and the superuser it is exact with
/// one, too.
pub(crate) fn by_mode(attributes: &Attributes, caller: &Caller) -> Access {
    if caller.uid == 0 {
        let may_execute = attributes.kind == Kind::Folder || attributes.mode & 0o111 != 0;
        let execute = if may_execute { Access::EXECUTE } else { Access::NONE };
        return Access::READ.union(Access::WRITE).union(execute);
    }
    let class = if caller.uid == attributes.uid {
        6
    } else if caller.in_group(attributes.gid) {
        3
    } else {
        0
    };
    Access((attributes.mode >> class) as u8 & 7)
}

/// Whether [`by_mode`] is the whole truth for this caller, ACL or not (POSIX 1003.1e 23.1.5: the owner's entry is the
/// owner's class, and the superuser passes).
pub(crate) fn mode_is_exact(attributes: &Attributes, caller: &Caller) -> bool {
    caller.uid == 0 || caller.uid == attributes.uid
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{FileId, Time};

    fn file(mode: u32) -> Attributes {
        let at = Time::default();
        Attributes {
            id: FileId::new(0, 1),
            kind: Kind::File,
            mode,
            uid: 10,
            gid: 20,
            links: 1,
            size: 0,
            allocated: 0,
            device: (0, 0),
            accessed: at,
            modified: at,
            changed: at,
            created: None,
        }
    }

    #[test]
    fn only_the_first_class_that_fits_counts() {
        let secret_to_owner = file(0o077);
        assert_eq!(by_mode(&secret_to_owner, &Caller::new(10, 20, &[])), Access::NONE);
        assert_eq!(by_mode(&secret_to_owner, &Caller::new(11, 20, &[])), Access(7));
        assert_eq!(by_mode(&file(0o705), &Caller::new(11, 1, &[20])), Access::NONE);
        assert_eq!(by_mode(&file(0o705), &Caller::new(11, 1, &[])), Access(5));
    }

    #[test]
    fn the_superuser_executes_only_what_somebody_may_execute() {
        assert_eq!(by_mode(&file(0), &Caller::root()), Access(6));
        assert_eq!(by_mode(&file(0o100), &Caller::root()), Access(7));
    }
}
