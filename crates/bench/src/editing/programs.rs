//! The programs: what each does with a share, what it needs for that, and what its maker says of shares.

use serde::Serialize;

use super::Ability::{
    Attributes, Dates, DurableOpens, FullSync, LargeFiles, Links, LockFiles, LostLocks, Mapping, Names,
    NoSidecars, OneCase, OpenAlone, RangeLocks, SafeSave, SmallReads, SparseBundles,
};
use super::{Ability, Judgement, Obstacle, Outcome, Trial, Verdict};
use crate::Protocol;

/// An edit application, or what takes the place of a share for those that refuse one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
#[allow(missing_docs, reason = "named in full")]
pub enum Program {
    FinalCutPro,
    PremierePro,
    Resolve,
    ProTools,
    LogicPro,
    SparseBundle,
}

/// All of them, by the words of the command line.
pub const PROGRAMS: [(&str, Program); 6] = [
    ("final-cut-pro", Program::FinalCutPro),
    ("premiere-pro", Program::PremierePro),
    ("resolve", Program::Resolve),
    ("pro-tools", Program::ProTools),
    ("logic-pro", Program::LogicPro),
    ("sparse-bundle", Program::SparseBundle),
];

impl Program {
    /// Its name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::FinalCutPro => "Final Cut Pro",
            Self::PremierePro => "Premiere Pro",
            Self::Resolve => "DaVinci Resolve",
            Self::ProTools => "Pro Tools",
            Self::LogicPro => "Logic Pro",
            Self::SparseBundle => "a sparse bundle on the share",
        }
    }
}

/// Something that a program does with a share.
struct Purpose {
    program: Program,
    what: &'static str,
    /// Without one of these it is refused, or work is lost.
    needs: &'static [Ability],
    /// Without one of these something is lost.
    wants: &'static [Ability],
    /// What its maker says of shares over this protocol, whatever the server can do.
    rule: fn(Protocol) -> Option<(Verdict, &'static str, &'static str)>,
}

/// What helps where a program takes disks only.
const A_DISK: &str = "make a sparse bundle on the share (`hdiutil create -type SPARSEBUNDLE -size 500g -fs APFS …`), which is a disk for the Mac; \
                      for Windows and Linux, a LUN (`fourfold lun create`). One machine at a time uses it";

const PURPOSES: &[Purpose] = &[
    Purpose {
        program: Program::FinalCutPro,
        what: "libraries",
        needs: &[Names, RangeLocks, LostLocks, SafeSave, Mapping, Attributes, LargeFiles],
        wants: &[Links, FullSync, DurableOpens, NoSidecars, OneCase, Dates],
        rule: |protocol| match protocol {
            Protocol::Smb => None,
            _ => Some((
                Verdict::Refused,
                "Final Cut Pro opens libraries on disks and, since 10.3, on SMB shares, and on no other share",
                "mount the share over SMB, or keep the library in a sparse bundle on the share and only the media beside it",
            )),
        },
    },
    Purpose {
        program: Program::FinalCutPro,
        what: "media outside of the library",
        needs: &[LargeFiles, Names],
        wants: &[Dates, NoSidecars],
        rule: no_rule,
    },
    Purpose {
        program: Program::PremierePro,
        what: "projects, productions and media",
        needs: &[Names, LockFiles, SafeSave, LargeFiles],
        wants: &[NoSidecars, OneCase, Dates, DurableOpens, SmallReads],
        rule: no_rule,
    },
    Purpose {
        program: Program::PremierePro,
        what: "the media cache and its database",
        needs: &[RangeLocks, LostLocks, Mapping],
        wants: &[SmallReads],
        rule: |_| {
            Some((
                Verdict::Limited,
                "each machine has its own cache, and two that share one spoil it",
                "leave the media cache on a disk of each machine",
            ))
        },
    },
    Purpose {
        program: Program::Resolve,
        what: "media, gallery and renders",
        needs: &[LargeFiles, Names],
        wants: &[Dates, NoSidecars, OneCase],
        rule: no_rule,
    },
    Purpose {
        program: Program::Resolve,
        what: "a local project library on the share",
        needs: &[SafeSave, RangeLocks, Names],
        wants: &[FullSync, DurableOpens],
        rule: |_| {
            Some((
                Verdict::Limited,
                "Resolve does not lock such a library: if two people open it, the last one to save wins",
                "use a project server or the cloud for projects of several people, and a library on the share for one person only",
            ))
        },
    },
    Purpose {
        program: Program::ProTools,
        what: "sessions: storing and copying",
        needs: &[Names, SafeSave, LargeFiles],
        wants: &[Dates, NoSidecars, OneCase],
        rule: no_rule,
    },
    Purpose {
        program: Program::ProTools,
        what: "sessions: recording and playing",
        needs: &[SmallReads, SafeSave, LargeFiles, Names],
        wants: &[OpenAlone, FullSync, DurableOpens],
        rule: |_| {
            Some((
                Verdict::Limited,
                "Pro Tools takes a share for a Transfer volume, from which it neither plays nor records until somebody says otherwise",
                "set the volume to R (record and play) in the Workspace window, at your own risk: Avid supports its own shared \
                 storage only. Or make a sparse bundle on the share, or a LUN: these are disks for Pro Tools",
            ))
        },
    },
    Purpose {
        program: Program::LogicPro,
        what: "projects",
        needs: &[Names, SafeSave, Attributes, LargeFiles],
        wants: &[SmallReads, FullSync, DurableOpens, NoSidecars, OneCase, Dates],
        rule: no_rule,
    },
    Purpose {
        program: Program::LogicPro,
        what: "the Sound Library",
        needs: &[],
        wants: &[],
        rule: |_| {
            Some((
                Verdict::Refused,
                "Logic Pro moves its Sound Library to volumes of APFS or Mac OS Extended only, and does not offer a share",
                A_DISK,
            ))
        },
    },
    Purpose {
        program: Program::SparseBundle,
        what: "the disk of one Mac, for programs that refuse shares",
        needs: &[SparseBundles, SafeSave, LargeFiles],
        wants: &[OpenAlone, FullSync, DurableOpens, LostLocks],
        rule: no_rule,
    },
];

fn no_rule(_: Protocol) -> Option<(Verdict, &'static str, &'static str)> {
    None
}

/// What happens to a program without an ability, and what helps.
fn without(ability: Ability) -> (&'static str, &'static str) {
    const PRESET: &str =
        "on Fourfold: `fourfold set preset=editing SHARE`; on another server, see its manual";
    const OVER_SMB: &str = "mount the share over SMB";
    const UPDATE: &str = "update the server, or use another one";
    match ability {
        Names => ("files get other names, or are refused, and projects do not find them", PRESET),
        OneCase => (
            "a project that was made on a Mac or on Windows does not find media whose names differ in case",
            PRESET,
        ),
        NoSidecars => ("media browsers list `._` files as clips that cannot be read", PRESET),
        LockFiles => ("two people open the same project, and the last one to save wins", UPDATE),
        RangeLocks => {
            ("the database in the library can be damaged by a second user, or is refused", OVER_SMB)
        }
        LostLocks => (
            "after a Mac has lost its connection, the library stays locked",
            "end the old session: `fourfold disconnect`, or restart the Mac",
        ),
        OpenAlone => ("a second user is not kept out", OVER_SMB),
        SafeSave => ("a crash while saving can lose the project", UPDATE),
        SparseBundles => ("disk images cannot be made on the share", OVER_SMB),
        SmallReads => (
            "playing many tracks stops with a disk error",
            "use a cable, keep few tracks on the share, or look with `fourfold bench` for what is slow",
        ),
        Mapping => ("waveforms, peaks and thumbnails are damaged", UPDATE),
        FullSync => ("what was saved may be lost when the server loses its power", OVER_SMB),
        DurableOpens => {
            ("a Mac that has slept, or lost its connection for a moment, has to close the project", OVER_SMB)
        }
        LargeFiles => {
            ("recordings and renders end at 4 GiB", "use a file system without this limit on the server")
        }
        Links => (
            "media that stay in place are not found: the library has links to them",
            "copy the media into the library",
        ),
        Attributes => ("tags, places of origin and marks of the program are lost", OVER_SMB),
        Dates => ("clips are offered as changed or missing, because their dates are others", UPDATE),
    }
}

/// What the outcomes and the rules of the makers make of the uses of these programs.
pub(super) fn judge(protocol: Protocol, trials: &[Trial], programs: &[Program]) -> Vec<Judgement> {
    let asked = PURPOSES.iter().filter(|purpose| programs.contains(&purpose.program));
    asked.map(|purpose| judged(purpose, protocol, trials)).collect()
}

fn judged(purpose: &Purpose, protocol: Protocol, trials: &[Trial]) -> Judgement {
    let mut obstacles: Vec<Obstacle> = (purpose.rule)(protocol)
        .into_iter()
        .map(|(verdict, why, instead)| Obstacle { verdict, why: why.into(), instead: instead.into() })
        .collect();
    let needs = purpose.needs.iter().map(|ability| (*ability, Verdict::Refused));
    let wants = purpose.wants.iter().map(|ability| (*ability, Verdict::Limited));
    for (ability, verdict) in needs.chain(wants) {
        let Some(trial) = trials.iter().find(|trial| trial.ability == ability) else { continue };
        let what = trial.what;
        let (seen, verdict) = match &trial.outcome {
            Outcome::Works { .. } => continue,
            Outcome::Fails { why } => (format!("{what}: {why}"), verdict),
            // No client of the protocol has it, and programs do without: something is lost, at most.
            Outcome::Impossible => (format!("{what}: not over {protocol}"), Verdict::Limited),
        };
        let (why, instead) = without(ability);
        obstacles.push(Obstacle { verdict, why: format!("{why} ({seen})"), instead: instead.into() });
    }
    obstacles.sort_by_key(|obstacle| std::cmp::Reverse(obstacle.verdict));
    let verdict = obstacles.first().map_or(Verdict::Works, |worst| worst.verdict);
    Judgement { program: purpose.program, purpose: purpose.what, verdict, obstacles }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn trials(fails: &[Ability]) -> Vec<Trial> {
        let outcome = |ability| match fails.contains(&ability) {
            true => Outcome::fails("it did not"),
            false => Outcome::works("it did"),
        };
        Ability::ALL
            .map(|ability| Trial { ability, what: ability.what(), outcome: outcome(ability) })
            .to_vec()
    }

    fn verdict(protocol: Protocol, fails: &[Ability], program: Program, purpose: &str) -> Judgement {
        let judged = judge(protocol, &trials(fails), &[program]);
        judged.into_iter().find(|judgement| judgement.purpose == purpose).unwrap()
    }

    #[test]
    fn final_cut_pro_takes_libraries_over_smb_only() {
        // Apple's release notes of Final Cut Pro 10.3: libraries on SMB.
        let of = |protocol| verdict(protocol, &[], Program::FinalCutPro, "libraries").verdict;
        assert_eq!(
            [Protocol::Smb, Protocol::Afp, Protocol::Nfs].map(of),
            [Verdict::Works, Verdict::Refused, Verdict::Refused]
        );
    }

    #[test]
    fn a_missing_need_refuses_and_a_missing_wish_limits() {
        let of = |fails: &[Ability]| {
            verdict(Protocol::Smb, fails, Program::PremierePro, "projects, productions and media")
        };
        assert_eq!(of(&[]).verdict, Verdict::Works);
        assert_eq!(of(&[OneCase]).verdict, Verdict::Limited);
        let both = of(&[OneCase, LockFiles]);
        assert_eq!((both.verdict, both.obstacles.len()), (Verdict::Refused, 2));
        assert!(
            both.obstacles[0].why.contains("a lock file can be made once: it did not"),
            "the worst is first"
        );
    }

    #[test]
    fn the_sound_library_of_logic_needs_a_disk() {
        let judged = verdict(Protocol::Smb, &[], Program::LogicPro, "the Sound Library");
        assert_eq!(judged.verdict, Verdict::Refused);
        assert!(judged.obstacles[0].instead.contains("SPARSEBUNDLE"));
    }

    #[test]
    fn each_program_has_a_purpose_and_each_ability_a_program() {
        for (word, program) in PROGRAMS {
            assert!(PURPOSES.iter().any(|purpose| purpose.program == program), "{word}");
        }
        for ability in Ability::ALL {
            let uses =
                |purpose: &Purpose| purpose.needs.contains(&ability) || purpose.wants.contains(&ability);
            assert!(PURPOSES.iter().any(uses), "{ability:?}");
        }
    }
}
