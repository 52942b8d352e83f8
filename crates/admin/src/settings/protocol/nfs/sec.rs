//! How clients of NFS prove whose their calls are: `sec` of a client rule.

use crate::settings::diagnostic::Findings;
use crate::settings::section::Section;

/// A security flavour.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ClientSec {
    /// They do not: the server believes the client.
    Sys,
    /// By Kerberos.
    Krb5,
    /// By Kerberos; their content is signed, too.
    Krb5i,
    /// By Kerberos; their content is encrypted.
    Krb5p,
}

impl ClientSec {
    /// The values of `sec`.
    pub(in crate::settings) const WORDS: &[&str] = &["sys", "krb5", "krb5i", "krb5p"];

    pub(in crate::settings) fn of(rule: &Section) -> Vec<Self> {
        let one = |word: &String| match word.as_str() {
            "krb5" => Self::Krb5,
            "krb5i" => Self::Krb5i,
            "krb5p" => Self::Krb5p,
            _ => Self::Sys,
        };
        rule.texts("sec").iter().map(one).collect()
    }
}

/// At least one rule allows Kerberos, and there is a keytab.
pub(in crate::settings) fn check(has_keytab: bool, shares: &[Section], findings: &mut Findings) {
    for rule in shares.iter().flat_map(|share| &share.clients).filter(|rule| rule.is_set("sec")) {
        let sec = ClientSec::of(rule);
        if sec.is_empty() {
            let what = "`sec` is empty: no client of NFS could use the share";
            findings.error(rule.place_of("sec"), what, "name a flavour, or write `access = \"none\"`");
        } else if !has_keytab && !sec.contains(&ClientSec::Sys) {
            let what = "`sec` demands Kerberos, and the server has no keytab";
            findings.error(rule.place_of("sec"), what, "write `kerberos-keytab` in [server], or add \"sys\"");
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::settings::{Arguments, ClientSec, Settings};

    fn load(server: &str, rule: &str) -> Result<Vec<ClientSec>, String> {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("a")).unwrap();
        std::fs::write(folder.path().join("keytab"), b"\x05\x02").unwrap();
        let text = format!(
            "[server]\n{server}\n[[share]]\nname = \"A\"\npath = \"a\"\n[[share.client]]\nmatch = \"*\"\n{rule}\n"
        );
        std::fs::write(folder.path().join("fourfold.toml"), text).unwrap();
        let settings = Settings::load(&Arguments::new(false, folder.path().into()));
        settings
            .map(|settings| settings.shares[0].clients[0].sec.clone())
            .map_err(|errors| format!("{errors:?}"))
    }

    #[test]
    fn the_flavours_of_a_rule_keep_their_order_and_all_are_allowed_by_default() {
        use ClientSec::{Krb5, Krb5i, Krb5p, Sys};
        assert_eq!(load("", ""), Ok(vec![Sys, Krb5, Krb5i, Krb5p]));
        assert_eq!(
            load("kerberos-keytab = \"keytab\"", "sec = [\"krb5p\", \"krb5i\"]"),
            Ok(vec![Krb5p, Krb5i])
        );
        assert_eq!(load("", "sec = [\"krb5p\", \"sys\"]"), Ok(vec![Krb5p, Sys]));
    }

    #[test]
    fn a_rule_without_a_usable_flavour_is_an_error() {
        assert!(load("", "sec = []").unwrap_err().contains("`sec` is empty"));
        assert!(load("", "sec = [\"krb5\"]").unwrap_err().contains("no keytab"));
        assert!(load("", "sec = [\"krb6\"]").is_err());
    }
}
