//! The ids of files in the index of the state folder.

use afp::catalogue::check::{CatalogFinding, CatalogFlaw, Mend, check as check_ids};
use anyhow::Context;
use vfs::LastingKey;

use super::work::{Place, ScrubRecorder, settle};

/// Compares the ids with each other and with the files.
pub(super) fn check(place: &Place<'_>, repair: bool, recorder: &ScrubRecorder<'_>) -> anyhow::Result<()> {
    let volumes = place.all();
    let exists = |file: &LastingKey| {
        volumes.iter().any(|volume| volume.keys_of(file, true).iter().any(|key| volume.node(key).is_ok()))
    };
    let mut is_gone = |file: &LastingKey| volumes.iter().any(|volume| volume.is_gone(file)) && !exists(file);
    let mut found = |finding: CatalogFinding| {
        let CatalogFinding { id, flaw } = finding;
        // Ids of removed files stay until somebody asks for them: that is no damage.
        if flaw == CatalogFlaw::Gone {
            return if repair { Mend::Repair } else { Mend::Leave };
        }
        let (kind, what, meaning) = words(flaw);
        let path = format!("index.redb, id {}", id.0);
        // A server remembers rows.
        let may = !place.is_served;
        let mended = || Ok(());
        let mend: Option<&dyn Fn() -> anyhow::Result<()>> = if may { Some(&mended) } else { None };
        let remedy = if may { "--repair removes it" } else { "stop the server, then --repair mends it" };
        settle(recorder, (path, kind, what.into()), (meaning, remedy), (repair, mend));
        if may && repair { Mend::Repair } else { Mend::Leave }
    };
    let done =
        check_ids(place.volumes.index(), &mut is_gone, &mut found, &mut |count| recorder.looked(count));
    done.map(drop).context("the index in the state folder failed")
}

/// A word, what is wrong, and what it means.
fn words(flaw: CatalogFlaw) -> (&'static str, &'static str, &'static str) {
    match flaw {
        CatalogFlaw::Gone => {
            ("id-of-gone-file", "the file of the id does not exist any more", "nothing; it takes space")
        }
        CatalogFlaw::Differs => (
            "id-differs",
            "the tables of ids and of files differ",
            "aliases of Macs may lead to another file",
        ),
        CatalogFlaw::Damaged => ("id-damaged", "the row cannot be read", "no client finds a file by this id"),
        CatalogFlaw::PlaceAlone => {
            ("id-place-alone", "a place is kept for an id that no file has", "nothing; it takes space")
        }
    }
}
