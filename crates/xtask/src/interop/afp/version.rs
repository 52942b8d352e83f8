//! The versions of AFP that the test programs support.

/// A version and the option that chooses it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct AfpVersion {
    pub name: &'static str,
    pub option: &'static str,
}

pub const VERSIONS: &[AfpVersion] = &[
    AfpVersion { name: "2.1", option: "-1" },
    AfpVersion { name: "2.2", option: "-2" },
    AfpVersion { name: "3.0", option: "-3" },
    AfpVersion { name: "3.1", option: "-4" },
    AfpVersion { name: "3.2", option: "-5" },
    AfpVersion { name: "3.3", option: "-6" },
    AfpVersion { name: "3.4", option: "-7" },
];

impl AfpVersion {
    /// The two users of this version's tests, which run in parallel with those of other versions.
    pub fn users(self) -> [String; 2] {
        let digits = self.name.replace('.', "");
        [format!("ada{digits}"), format!("bob{digits}")]
    }

    /// The two volumes.
    pub fn volumes(self) -> [String; 2] {
        let digits = self.name.replace('.', "");
        [format!("main{digits}"), format!("second{digits}")]
    }
}
