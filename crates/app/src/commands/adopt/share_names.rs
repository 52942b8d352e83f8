//! Names of shares: each folder has one of its own, also where two servers have two folders of one name.

use super::share::Share;

impl Share {
    /// Gives it a name that none of these shares has; a line for the report if that is another one.
    pub(super) fn rename_beside(&mut self, others: &[Self]) -> Option<String> {
        let is_free = |name: &str| others.iter().all(|other| !other.name.eq_ignore_ascii_case(name));
        if is_free(&self.name) {
            return None;
        }
        let protocol = self.protocols.first().copied().unwrap_or("share");
        let names = std::iter::once(format!("{}-{protocol}", self.name));
        let names =
            names.chain((2..=others.len() + 2).map(|number| format!("{}-{protocol}-{number}", self.name)));
        let name = { names }.find(|name| is_free(name))?;
        let path = self.path.display();
        let note =
            format!("the share {} of {path} is called {name} here: another share has the name", self.name);
        self.name = name;
        Some(note)
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    fn share(protocol: &'static str) -> Share {
        Share::new("data", Path::new("/srv/data"), protocol)
    }

    #[test]
    fn two_folders_of_one_name_get_two_names() {
        let known = [share("smb")];
        let mut other = share("nfs");
        assert!(other.rename_beside(&known).unwrap().contains("data-nfs"));
        let known = [share("smb"), other.clone()];
        let mut third = share("nfs");
        third.rename_beside(&known).unwrap();
        assert_eq!((&*other.name, &*third.name), ("data-nfs", "data-nfs-2"));
        assert_eq!(third.rename_beside(&known), None);
    }
}
