//! Jobs that keep what people have: a second factor for a login, and the bin of a share.

use anyhow::{Result, ensure};
use serde_json::{Value, json};

use super::accounts::{fill, give_own_password};
use super::checks::{Scene, shows, type_login};
use super::place::ADMIN;

/// The code of a secret now: RFC 6238, by what the browser has for that.
const CODE: &str = "(async (secret) => { \
    const bits = [...secret.replace(/ /g, '')].map((one) => 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567'.indexOf(one).toString(2).padStart(5, '0')).join(''); \
    const bytes = Uint8Array.from(bits.match(/.{8}/g), (one) => parseInt(one, 2)); \
    const key = await crypto.subtle.importKey('raw', bytes, { name: 'HMAC', hash: 'SHA-1' }, false, ['sign']); \
    const counter = new DataView(new ArrayBuffer(8)); counter.setUint32(4, Math.floor(Date.now() / 30000)); \
    const hash = new DataView(await crypto.subtle.sign('HMAC', key, counter.buffer)); \
    const value = hash.getUint32(hash.getUint8(19) & 15) & 0x7fffffff; \
    return String(value % 1e6).padStart(6, '0'); })";

/// Sets up a second factor on the page that is shown, and keeps its recovery codes.
fn set_up(scene: &mut Scene) -> Result<Vec<String>> {
    scene.click("#factor button.primary")?;
    give_own_password(scene, ADMIN.1)?;
    scene.browser.until("document.querySelector('#factor svg path')?.getAttribute('d').length > 1000")?;
    let code =
        scene.browser.evaluate(&format!("{CODE}(document.querySelector('#factor-secret').textContent)"))?;
    fill(scene, &[("#factor-code", code.as_str().unwrap_or_default())])?;
    scene.click("#factor-code-form button")?;
    scene.browser.until("document.querySelector('#recovery-codes')")?;
    let codes =
        scene.browser.evaluate("document.querySelector('#recovery-codes').textContent.split('\\n')")?;
    let codes: Vec<String> = serde_json::from_value(codes)?;
    ensure!(codes.len() == 10, "{codes:?}");
    scene.browser.evaluate("document.querySelector('#factor button.primary').click()")?;
    Ok(codes)
}

/// A person sets a second factor by its QR code, logs in with a recovery code, and turns it off.
pub fn second_factor(scene: &mut Scene) -> Result<()> {
    scene.open("security")?;
    let codes = set_up(scene)?;
    scene.browser.until("document.querySelector('#factor').innerText.includes('10 recovery codes left')")?;

    scene.click("#logout")?;
    type_login(&mut scene.browser, ADMIN.1)?;
    scene.browser.until("!document.querySelector('#login-factor').hidden")?;
    scene.browser.until("document.activeElement.id === 'login-code'")?;
    scene.browser.type_text(&codes[0])?;
    scene.browser.press("Enter", 13)?;
    scene.browser.until("document.querySelector('main').dataset.ready === 'security'")?;
    scene.browser.errors(); // the browser notes the login without a code
    scene.browser.until("document.querySelector('#factor').innerText.includes('9 recovery codes left')")?;
    fill(scene, &[("#factor-end", &codes[1])])?;
    scene.click("#factor-end-form button")?;
    give_own_password(scene, ADMIN.1)?;
    scene.browser.until(&shows("ada logs in with the password alone."))?;
    scene.expect_no_errors()
}

/// Where each administrator needs a second factor, a session without one is led to its set-up, and to nothing else.
pub fn required_factor(scene: &mut Scene) -> Result<()> {
    scene.open("shares")?;
    scene.place.run(&["set", "admin-second-factor=required"])?;
    scene.browser.evaluate("location.hash = '#/security'")?;
    scene.browser.until("document.querySelector('main').dataset.ready === 'second-factor'")?;
    scene.browser.until("document.querySelector('#nav').hidden")?;
    scene.browser.evaluate("location.reload()")?;
    scene.browser.until("document.querySelector('main')?.dataset.ready === 'second-factor'")?;
    set_up(scene)?;
    scene.browser.until("document.querySelector('main').dataset.ready === 'security'")?;
    scene.browser.until("!document.querySelector('#nav').hidden")?;
    scene
        .browser
        .until("document.querySelector('#factor').innerText.includes('Each administrator needs one')")?;
    scene.place.run(&["set", "admin-second-factor=optional"])?;
    scene.place.run(&["user", "reset-factor", ADMIN.0, "-y"])?;
    scene.browser.errors(); // the browser notes the requests that were refused
    scene.open("shares")?;
    scene.expect_no_errors()
}

/// What is removed in a share with a bin is put back.
pub fn bin(scene: &mut Scene) -> Result<()> {
    scene.place.run(&["set", "bin=30 d", "studio"])?;
    let studio = scene.place.folder().join("studio");
    std::fs::write(studio.join("lost take"), "found again")?;
    scene.open("files?share=studio")?;
    scene.click("[aria-label='Remove lost take']")?;
    scene.browser.until("document.querySelector('#confirm').open")?;
    scene.browser.until("document.querySelector('#confirm-text').textContent.includes('.bin')")?;
    scene.click("#confirm-yes")?;
    scene.browser.until("!document.querySelector(\"[aria-label='Remove lost take']\")")?;
    ensure!(!studio.join("lost take").exists(), "it is still there");
    let folder = studio.join(".bin").join(ADMIN.0);
    let removal = std::fs::read_dir(&folder)?.flatten().next().map(|one| one.file_name());
    let removal = removal.unwrap_or_default().to_string_lossy().into_owned();
    let path = json!(format!(".bin/{}/{removal}", ADMIN.0));
    let address = format!("'files?' + new URLSearchParams({{ share: 'studio', path: {path} }})");
    let Value::String(address) = scene.browser.evaluate(&address)? else { anyhow::bail!("no address") };
    scene.open(&address)?;
    scene.click("[aria-label='Put back lost take']")?;
    scene.browser.until("!document.querySelector(\"[aria-label='Put back lost take']\")")?;
    ensure!(std::fs::read(studio.join("lost take"))? == b"found again", "it is not back");
    std::fs::remove_file(studio.join("lost take"))?;
    std::fs::remove_dir_all(studio.join(".bin"))?;
    scene.place.run(&["set", "bin=off", "studio"])?;
    scene.expect_no_errors()
}

/// The page shows what `fourfold disks --keep` has kept.
pub fn disks(scene: &mut Scene) -> Result<()> {
    let file = scene.place.folder().join("state/disk-health.json");
    let seen = json!({ "looked": 1_795_977_607, "disks": [{
        "device": "/dev/sdx", "model": "Made up", "serial": "Z1", "size": 4_000_787_030_016_u64, "temperature": 34,
        "hours": 43_549, "health": "failing", "problems": ["8 sectors cannot be read"],
    }] });
    std::fs::write(&file, seen.to_string())?;
    scene.open("health")?;
    scene
        .browser
        .until("document.querySelector('main tbody')?.innerText.includes('8 sectors cannot be read')")?;
    scene.browser.until("document.querySelector('main tbody .badge.bad')?.textContent === 'failing'")?;
    std::fs::remove_file(file)?;
    scene.expect_no_errors()
}
