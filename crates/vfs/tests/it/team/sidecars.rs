//! The sidecar of a file has the rights of the file: clients and local programs can open it by its name.

use vfs::state::{Modes, Stream};
use vfs::{Beside, OpenOptions, RightsObserver, RightsRecord, RightsWork};

use super::*;

const EDITOR: u32 = 6002;

impl Share {
    /// A file with a resource fork, which is in its sidecar. Its name, and both.
    fn with_fork(&self, folder: &Found) -> (String, Found, Found) {
        let (name, file) = self.file(&cora(), folder).unwrap();
        let at = Beside { folder: &folder.object, name: name.as_bytes() };
        let options = OpenOptions {
            stream: Stream::Resource,
            create: true,
            place: Some(at),
            ..OpenOptions::data(Modes::READ.union(Modes::WRITE))
        };
        run(async {
            let open = self.volume.open(&cora(), &file, options).await.unwrap();
            open.write_at(0, Bytes::from_static(b"fork"), Stability::Unstable).await.unwrap();
        });
        let sidecar = folder.object.lookup(&Caller::root(), format!("._{name}").as_bytes()).unwrap();
        (name, file, sidecar)
    }

    /// What deviates on the disk below the share's folder.
    fn deviating(&self, reset: bool) -> Vec<String> {
        let mut found = Paths::default();
        let work = RightsWork { recursive: true, reset, all: false };
        assert_eq!(self.volume.stored_rights().walk(&[], work, &mut found), Ok(true));
        found.0
    }
}

/// The paths of what deviates.
#[derive(Default)]
struct Paths(Vec<String>);

impl RightsObserver for Paths {
    fn is_foreign(&mut self, _: u32) -> bool {
        false
    }

    fn deviates(&mut self, path: &[u8], _: &vfs::Attributes, deviations: &[vfs::acl::Deviation]) {
        if deviations.iter().any(vfs::acl::Deviation::is_mendable) {
            self.0.push(String::from_utf8_lossy(path).into_owned());
        }
    }

    fn changes(&mut self, _: &[u8], _: &RightsRecord) -> vfs::Result<()> {
        Ok(())
    }

    fn failed(&mut self, path: &[u8], error: Error) {
        panic!("{}: {error}", path.escape_ascii());
    }

    fn looked(&mut self, _: u64) -> bool {
        true
    }
}

#[test]
fn a_role_on_a_file_counts_for_its_sidecar() {
    for share in shares() {
        let root = share.root();
        let (_, file, sidecar) = share.with_fork(&root);
        assert_eq!(share.write(&by_login(EDITOR), &sidecar), Ok(()));
        share.narrow(&file, EDITOR, Role::Reader);
        assert_eq!(share.write(&by_login(EDITOR), &sidecar), Err(Error::AccessDenied));
        assert_eq!(share.read(&by_login(EDITOR), &sidecar), Ok(()));
        share.set(&by_login(6001), &file, Entries::default()).unwrap();
        assert_eq!(share.write(&by_login(EDITOR), &sidecar), Ok(()));
    }
}

#[test]
fn a_sidecar_that_is_made_later_has_the_role_on_its_file() {
    for share in shares() {
        let root = share.root();
        let (name, file) = share.file(&cora(), &root).unwrap();
        share.narrow(&file, EDITOR, Role::Reader);
        let at = Beside { folder: &root.object, name: name.as_bytes() };
        let options = OpenOptions {
            stream: Stream::Resource,
            create: true,
            place: Some(at),
            ..OpenOptions::data(Modes::WRITE)
        };
        run(async {
            let open = share.volume.open(&cora(), &file, options).await.unwrap();
            open.write_at(0, Bytes::from_static(b"fork"), Stability::Unstable).await.unwrap();
        });
        let sidecar = root.object.lookup(&Caller::root(), format!("._{name}").as_bytes()).unwrap();
        assert_eq!(share.write(&by_login(EDITOR), &sidecar), Err(Error::AccessDenied));
    }
}

#[test]
fn a_reset_gives_a_sidecar_the_form_of_its_file() {
    for share in shares() {
        share.deviating(true);
        let root = share.root();
        let (name, file, sidecar) = share.with_fork(&root);
        share.narrow(&file, EDITOR, Role::Reader);
        assert_eq!(share.deviating(false), [""; 0]);
        let list = b"user.fourfold.acl";
        sidecar.object.remove_xattr(&Caller::root(), list).unwrap();
        let wide = SetAttributes { mode: Some(0o666), ..SetAttributes::default() };
        sidecar.object.set_attributes(&Caller::root(), &wide).unwrap();
        assert_eq!(share.deviating(true), [format!("._{name}")]);
        assert_eq!(share.deviating(false), [""; 0]);
        assert_eq!(sidecar.object.xattr(list), file.object.xattr(list));
        assert_eq!(sidecar.object.attributes().unwrap().mode & 7, 0);
        assert_eq!(share.write(&by_login(EDITOR), &sidecar), Err(Error::AccessDenied));
    }
}
