//! The account for checks, in a file as mount.cifs reads it: `username=`, `password=`.

use std::path::Path;

/// The longest file that is read.
const LONGEST: u64 = 64 << 10;

/// A name and a password.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct LinkAccount {
    pub(crate) user: String,
    pub(crate) password: String,
}

impl LinkAccount {
    /// Reads the file.
    pub(crate) fn read(file: &Path) -> Result<Self, String> {
        let failed =
            |error: std::io::Error| format!("the account in {} cannot be read: {error}", file.display());
        if std::fs::metadata(file).map_err(failed)?.len() > LONGEST {
            return Err(format!("{} is no file with an account: it is too long", file.display()));
        }
        let account = Self::parse(&std::fs::read_to_string(file).map_err(failed)?);
        match account.user.is_empty() {
            true => Err(format!("{} has no line `username=NAME`", file.display())),
            false => Ok(account),
        }
    }

    fn parse(text: &str) -> Self {
        let mut account = Self::default();
        for (key, value) in text.lines().filter_map(|line| line.split_once('=')) {
            match key.trim().to_lowercase().as_str() {
                "username" | "user" => value.trim().clone_into(&mut account.user),
                // mount.cifs(8): a password may have spaces at its ends.
                "password" | "pass" => value.trim_end_matches('\r').clone_into(&mut account.password),
                _ => {}
            }
        }
        account
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // mount.cifs(8), "credentials".
    #[test]
    fn the_file_is_that_of_mount_cifs() {
        let account = LinkAccount::parse("# a comment\nusername = probe\npassword=se=cret \r\ndomain=WORK\n");
        assert_eq!(account, LinkAccount { user: "probe".into(), password: "se=cret ".into() });
        assert_eq!(LinkAccount::parse("\u{0}=\nuser"), LinkAccount::default());
    }
}
