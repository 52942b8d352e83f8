//! What other servers have left in a share, and its conversion.

use std::path::Path;

use anyhow::{Result, ensure};
use rustix::fs::XattrFlags;

use super::checks::{Scene, shows};
use super::jobs;

/// The Finder info of Samba's `fruit:metadata = stream`: `AfpInfo` of Samba's lib/MacExtensions.h, with the byte that Samba's
/// streams_xattr adds.
fn of_samba() -> Vec<u8> {
    let mut info = b"AFP\0\0\0\x01\0\0\0\0\0\x80\0\0\0TEXTttxt".to_vec();
    info.resize(61, 0);
    info
}

const SAMBA: &str = "user.DosStream.AFP_AfpInfo:$DATA";
/// Netatalk 3's attribute with the Finder info.
const NETATALK: &str = "user.org.netatalk.Metadata";

fn value(file: &Path, name: &str) -> Option<Vec<u8>> {
    let mut value = vec![0; 4096];
    let length = rustix::fs::getxattr(file, name, &mut value[..]).ok()?;
    value.truncate(length);
    Some(value)
}

/// Answers the question whether it shall be done.
fn confirm(scene: &mut Scene) -> Result<()> {
    scene.browser.until("document.querySelector('#confirm').open")?;
    scene.click("#confirm-yes")
}

/// A file of Samba is counted, converted to Netatalk's layout, and has what it had after that is taken back.
pub fn converted(scene: &mut Scene) -> Result<()> {
    let file = scene.place.folder().join("studio/scenes/of samba");
    std::fs::write(&file, "text")?;
    rustix::fs::setxattr(&file, SAMBA, &of_samba(), XattrFlags::empty())?;
    scene.open("adopt")?;
    scene.browser.evaluate("document.querySelector('#adopt-share').value = 'studio'")?;
    scene.click("main form button.primary")?;
    scene.browser.until("document.querySelector('[data-survey]')")?;
    scene.browser.until(&shows("user.DosStream.AFP_AfpInfo"))?;
    ensure!(value(&file, SAMBA).is_some(), "a look has changed something");
    scene.click("#convert button[type=submit]")?;
    scene.browser.until("document.querySelector('[data-converted=\"1\"]')")?;
    scene.browser.until(&shows("would get the layout netatalk"))?;
    ensure!(value(&file, NETATALK).is_none(), "a preview has changed something");
    scene.click("#convert button.danger")?;
    confirm(scene)?;
    scene.browser.until(&shows("have the layout netatalk"))?;
    ensure!(value(&file, SAMBA).is_none(), "the file has its former layout");
    let info = value(&file, NETATALK).unwrap_or_default();
    ensure!(
        info.windows(8).any(|part| part == b"TEXTttxt"),
        "the Finder info is lost: {}",
        info.escape_ascii()
    );
    // The list has the conversion, also after the page was left.
    scene.open("overview")?;
    scene.open("adopt")?;
    scene.click("[aria-label^='Take back']")?;
    confirm(scene)?;
    scene.browser.until("document.querySelector('[data-back=\"1\"]')")?;
    scene.browser.until(&shows("No conversion is kept."))?;
    ensure!(value(&file, SAMBA) == Some(of_samba()), "it is not as it was");
    ensure!(value(&file, NETATALK).is_none(), "the other layout is there, too");
    std::fs::remove_file(&file)?;
    scene.expect_no_errors()
}

/// The files of a conversion that is cancelled: more, each time that the disk was so fast that it was done before.
const MANY: [usize; 4] = [300, 1_200, 4_800, 19_200];

/// A conversion that is cancelled on the page of jobs is listed as one that ended early, and the page Adopt goes on with it.
pub fn goes_on(scene: &mut Scene) -> Result<()> {
    let folder = scene.place.folder().join("archive/films");
    std::fs::create_dir(&folder)?;
    let file = |number: usize| folder.join(format!("{number:05}"));
    scene.place.run(&["set", "read-only=off", "archive"])?;
    let mut made = 0;
    let mut cancelled = false;
    for files in MANY {
        for number in made..files {
            std::fs::write(file(number), "text")?;
            rustix::fs::setxattr(file(number), SAMBA, &of_samba(), XattrFlags::empty())?;
        }
        made = files;
        cancelled = convert_and_cancel(scene)?;
        if cancelled {
            break;
        }
        take_back(scene, made)?;
    }
    ensure!(cancelled, "the conversion of {made} files was done before it could be cancelled");
    let converted = (0..made).filter(|number| value(&file(*number), NETATALK).is_some()).count();
    ensure!(converted > 0 && converted < made, "{converted} were converted before it was cancelled");
    scene.browser.until(&shows("ended early"))?;
    scene.click("[aria-label^='Go on']")?;
    scene.browser.until("document.querySelector('[data-job][data-state=done]')")?;
    scene.browser.until("document.querySelector('[data-converted]')")?;
    ensure!((0..made).all(|number| value(&file(number), SAMBA).is_none()), "it did not go on");
    scene.browser.until("!document.querySelector(\"[aria-label^='Go on']\")")?;
    take_back(scene, made)?;
    ensure!((0..made).all(|number| value(&file(number), SAMBA) == Some(of_samba())), "it is not as it was");
    scene.place.run(&["set", "read-only=on", "archive"])?;
    std::fs::remove_dir_all(&folder)?;
    scene.expect_no_errors()
}

/// Converts the share `archive`, and cancels this by the button of the job's card when some files are converted: was it in time?
fn convert_and_cancel(scene: &mut Scene) -> Result<bool> {
    let before = jobs::all(scene)?.iter().filter_map(|job| job["id"].as_u64()).max().unwrap_or(0);
    let card =
        format!("[...document.querySelectorAll('[data-job]')].find((card) => card.dataset.job > {before})");
    let done = format!("{card}?.dataset.state === 'done'");
    let at_work =
        format!("{card}?.querySelector('button') && /[1-9][\\d,]* files of/.test({card}.innerText)");
    scene.open("overview")?;
    scene.open("adopt")?;
    scene.browser.evaluate("document.querySelector('#adopt-share').value = 'archive'")?;
    scene.click("#convert button.danger")?;
    confirm(scene)?;
    scene.browser.until(&format!("{done} || ({at_work})"))?;
    let asked = scene.browser.evaluate(&format!("{card}.querySelector('button')?.click()"));
    scene.browser.until(&format!("{done} || document.querySelector('#confirm').open"))?;
    if asked.is_ok() && scene.browser.evaluate("document.querySelector('#confirm').open")? == true {
        scene.click("#confirm-yes")?;
    }
    scene.browser.until(&format!("{done} || {card}?.dataset.state === 'cancelled'"))?;
    let was_late = scene.browser.evaluate(&format!("Boolean({done})"))? == true;
    if was_late {
        // The server has refused to cancel what is done.
        let errors = scene.browser.errors();
        ensure!(errors.iter().all(|error| error.contains("409")), "{errors:?}");
    }
    Ok(!was_late)
}

/// Takes back the conversion that the list shows, and waits until so many files have their former layout.
fn take_back(scene: &mut Scene, files: usize) -> Result<()> {
    scene.click("[aria-label^='Take back']")?;
    confirm(scene)?;
    scene.browser.until(&format!("document.querySelector('[data-back=\"{files}\"]')"))
}
