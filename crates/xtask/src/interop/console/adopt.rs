//! What other servers have left in a share, and its conversion.

use std::path::Path;

use anyhow::{Result, ensure};
use rustix::fs::XattrFlags;

use super::checks::{Scene, shows};

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
    scene.browser.until(&shows("There is none."))?;
    ensure!(value(&file, SAMBA) == Some(of_samba()), "it is not as it was");
    ensure!(value(&file, NETATALK).is_none(), "the other layout is there, too");
    std::fs::remove_file(&file)?;
    scene.expect_no_errors()
}

/// A conversion that is cancelled on the page of jobs is listed as one that ended early, and the page Adopt goes on with it.
pub fn goes_on(scene: &mut Scene) -> Result<()> {
    const FILES: usize = 300;
    let folder = scene.place.folder().join("archive/films");
    std::fs::create_dir(&folder)?;
    let file = |number: usize| folder.join(format!("{number:04}"));
    for number in 0..FILES {
        std::fs::write(file(number), "text")?;
        rustix::fs::setxattr(file(number), SAMBA, &of_samba(), XattrFlags::empty())?;
    }
    scene.place.run(&["set", "read-only=off", "archive"])?;
    scene.open("adopt")?;
    scene.browser.evaluate("document.querySelector('#adopt-share').value = 'archive'")?;
    scene.click("#convert button.danger")?;
    confirm(scene)?;
    // The card of the job has a button to cancel it, as soon as it has looked at some files.
    scene.browser.until("document.querySelector('[data-job] button') && /[1-9]\\d* files of 3\\d+/.test(document.querySelector('[data-job]').innerText)")?;
    scene.click("[data-job] button")?;
    confirm(scene)?;
    scene.browser.until("document.querySelector('[data-job][data-state=cancelled]')")?;
    let converted = (0..FILES).filter(|number| value(&file(*number), NETATALK).is_some()).count();
    ensure!(converted > 0 && converted < FILES, "{converted} were converted before it was cancelled");
    scene.browser.until(&shows("ended early"))?;
    scene.click("[aria-label^='Go on']")?;
    scene.browser.until("document.querySelector('[data-job][data-state=done]')")?;
    scene.browser.until("document.querySelector('[data-converted]')")?;
    ensure!((0..FILES).all(|number| value(&file(number), SAMBA).is_none()), "it did not go on");
    scene.browser.until("!document.querySelector(\"[aria-label^='Go on']\")")?;
    scene.click("[aria-label^='Take back']")?;
    confirm(scene)?;
    scene.browser.until(&format!("document.querySelector('[data-back=\"{FILES}\"]')"))?;
    ensure!((0..FILES).all(|number| value(&file(number), SAMBA) == Some(of_samba())), "it is not as it was");
    scene.place.run(&["set", "read-only=on", "archive"])?;
    std::fs::remove_dir_all(&folder)?;
    scene.expect_no_errors()
}
