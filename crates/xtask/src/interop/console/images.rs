//! The page of disk images: one is opened, its files are shown, one of them is downloaded, and the image is closed.

use std::time::Duration;

use anyhow::{Result, ensure};

use super::accounts::fill;
use super::checks::{Scene, shows};
use crate::process;

/// A card that `mkfs.vfat` and mtools have made (crates/images/tests/data/MANIFEST.md).
const CARD: &str = "crates/images/tests/data/fat12.img.gz";
/// What the unpacking may take.
const SOON: Duration = Duration::from_secs(20);

/// A person gets a file out of an image in a share.
pub fn opened(scene: &mut Scene) -> Result<()> {
    let (card, image) = (process::root().join(CARD), scene.place.folder().join("studio/card.img"));
    let unpack = format!("gzip -dc '{}' > '{}'", card.display(), image.display());
    process::stdout_of("sh", &["-c", &unpack], SOON)?;
    scene.open("images")?;
    fill(scene, &[("#image-place", "studio/card.img")])?;
    scene.click("#open-image button.primary")?;
    for text in ["SHORT.TXT", "A folder with a long name"] {
        scene.browser.until(&shows(text))?;
    }
    let download = "fetch(document.querySelector('main a[download]').href).then((answer) => answer.status)";
    ensure!(scene.browser.evaluate(download)? == 200, "a file of the image is not sent");
    scene.open("overview")?;
    scene.open("images")?;
    let closing = "[data-image='card$'] [aria-label^=Close]";
    scene.click(closing)?;
    scene.browser.until("!document.querySelector(\"[data-image='card$']\")")?;
    std::fs::remove_file(image)?;
    scene.expect_no_errors()
}
