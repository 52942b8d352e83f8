//! Accounts that the page makes, changes and removes.

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};

use super::checks::{Scene, shows};
use super::place::ADMIN;

/// The account of these checks.
const NEW: &str = "hopper";

/// Sets fields, as typing does.
pub fn fill(scene: &mut Scene, fields: &[(&str, &str)]) -> Result<()> {
    for (field, value) in fields {
        let set = format!(
            "(() => {{ const field = document.querySelector({}); field.value = {}; field.dispatchEvent(new Event('input')); }})()",
            json!(field),
            json!(value)
        );
        scene.browser.evaluate(&set)?;
    }
    Ok(())
}

/// Types the own password into the dialog that the page shows for what changes identity or trust.
pub fn give_own_password(scene: &mut Scene, password: &str) -> Result<()> {
    scene.browser.until("document.querySelector('#own').open")?;
    fill(scene, &[("#own-password", password)])?;
    scene.click("#own-yes")?;
    scene.browser.errors(); // the browser notes the refusal without the password
    Ok(())
}

fn send(scene: &mut Scene) -> Result<()> {
    scene.click("#account-form button[type=submit]")
}

/// The row of the account in the table, as an expression.
fn row(text: &str) -> String {
    format!(
        "[...document.querySelectorAll('main tbody tr')].some((row) => row.innerText.startsWith('{NEW}') && row.innerText.includes({}))",
        json!(text)
    )
}

/// The account in the file.
fn kept(scene: &Scene) -> Result<Option<Value>> {
    let all: Value = serde_json::from_str(&scene.place.run(&["user", "list", "--json"])?)?;
    let all = all.as_array().context("no list")?;
    Ok(all.iter().find(|one| one["name"] == NEW).cloned())
}

fn button(scene: &mut Scene, text: &str, account: &str) -> Result<()> {
    scene.click(&format!("[aria-label='{text}: {account}']"))
}

/// An account is made with groups, gets another password, is disabled, and is removed. What would make it root is refused.
pub fn changed(scene: &mut Scene) -> Result<()> {
    scene.open("accounts")?;
    scene.click("main .heading button")?;
    scene.browser.until("document.activeElement.id === 'account-name'")?;
    let typed = [
        ("#account-name", NEW),
        ("#account-password", "secret of hopper"),
        ("#account-password-again", "another"),
    ];
    fill(scene, &typed)?;
    fill(scene, &[("#account-uid", "61003"), ("#account-groups", "no-such-group,")])?;
    send(scene)?;
    ensure!(kept(scene)?.is_none(), "two passwords that differ are taken");
    fill(scene, &[("#account-password-again", "secret of hopper")])?;
    send(scene)?;
    give_own_password(scene, ADMIN.1)?;
    scene.browser.until("document.querySelector('.toast.bad')?.textContent.includes('no-such-group')")?;
    scene.browser.errors(); // the browser notes the refusal
    scene.click("#account-form [aria-label^='Remove no-such-group']")?;
    fill(scene, &[("#account-groups", "5000, 5001")])?;
    send(scene)?;
    give_own_password(scene, ADMIN.1)?;
    scene.browser.until(&row("log in"))?;
    let made = kept(scene)?.context("the account is not made")?;
    ensure!(made["uid"] == 61003 && made["groups"] == json!([5000, 5001]), "{made}");

    button(scene, "Password", NEW)?;
    fill(
        scene,
        &[("#account-password", "a secret of CHAP"), ("#account-password-again", "a secret of CHAP")],
    )?;
    scene.click("#keep-chap")?;
    send(scene)?;
    give_own_password(scene, ADMIN.1)?;
    scene.browser.until(&row("iSCSI"))?;
    let secrets = kept(scene)?.context("it is gone")?["secrets"].clone();
    ensure!(secrets.as_array().is_some_and(|all| all.contains(&json!("chap"))), "{secrets}");
    scene.browser.until("!document.querySelector('#account-form')")?;

    button(scene, "Change", NEW)?;
    scene.click("#account-disabled")?;
    for group in ["5000", "5001"] {
        scene.click(&format!("#account-form [aria-label^='Remove {group}']"))?;
    }
    send(scene)?;
    give_own_password(scene, ADMIN.1)?;
    scene.browser.until(&row("not log in"))?;
    let changed = kept(scene)?.context("it is gone")?;
    ensure!(changed["disabled"] == true && changed["groups"] == json!([]), "{changed}");
    scene.browser.until("!document.querySelector('#account-form')")?;

    renamed(scene, NEW, "murray")?;
    renamed(scene, "murray", NEW)?;
    button(scene, "Remove", NEW)?;
    scene.browser.until("document.querySelector('#confirm').open")?;
    scene.click("#confirm-yes")?;
    give_own_password(scene, ADMIN.1)?;
    scene.browser.until(&format!("!{}", row("")))?;
    ensure!(kept(scene)?.is_none(), "it is not removed");
    scene.expect_no_errors()
}

/// Another name for an account, with a password: it acts as the same user.
fn renamed(scene: &mut Scene, from: &str, to: &str) -> Result<()> {
    button(scene, "Rename", from)?;
    let password = "another of them all";
    fill(
        scene,
        &[("#account-name", to), ("#account-password", password), ("#account-password-again", password)],
    )?;
    send(scene)?;
    give_own_password(scene, ADMIN.1)?;
    scene.browser.until(&format!("document.querySelector(\"[aria-label='Rename: {to}']\")"))?;
    scene.browser.until("!document.querySelector('#account-form')")?;
    let all: Value = serde_json::from_str(&scene.place.run(&["user", "list", "--json"])?)?;
    let all = all.as_array().context("no list")?;
    ensure!(all.iter().any(|one| one["name"] == to && one["uid"] == 61003), "{all:?}");
    ensure!(all.iter().all(|one| one["name"] != from), "{from} is still there");
    Ok(())
}

/// An administrator is made only with the own password of who does it; the own password is changed, and the session goes on.
pub fn administrators(scene: &mut Scene) -> Result<()> {
    scene.open("accounts")?;
    button(scene, "Change", "grace")?;
    scene.click("#account-admin")?;
    send(scene)?;
    give_own_password(scene, "wrong")?;
    scene
        .browser
        .until("document.querySelector('#own-text').textContent.includes('your own password is wrong')")?;
    give_own_password(scene, ADMIN.1)?;
    let grace = |text: &str| {
        format!(
            "[...document.querySelectorAll('main tbody tr')].some((row) => row.innerText.startsWith('grace') && row.innerText.includes('{text}'))"
        )
    };
    scene.browser.until(&grace("administer"))?;
    scene.browser.until("!document.querySelector('#account-form')")?;
    button(scene, "Change", "grace")?;
    scene.click("#account-admin")?;
    send(scene)?;
    give_own_password(scene, ADMIN.1)?;
    scene.browser.until(&format!("!{}", grace("administer")))?;
    scene.browser.until("!document.querySelector('#account-form')")?;

    for (old, new) in [(ADMIN.1, "another of ada"), ("another of ada", ADMIN.1)] {
        button(scene, "Password", ADMIN.0)?;
        fill(scene, &[("#account-password", new), ("#account-password-again", new)])?;
        send(scene)?;
        give_own_password(scene, old)?;
        scene.browser.until("!document.querySelector('#account-form')")?;
        scene.open("overview")?;
        scene.browser.until(&shows("All shares are served"))?;
        scene.browser.until("document.querySelector('#login').hidden")?;
        scene.open("accounts")?;
    }
    button(scene, "Remove", ADMIN.0)?;
    scene.browser.until("document.querySelector('#confirm').open")?;
    scene.click("#confirm-yes")?;
    give_own_password(scene, ADMIN.1)?;
    scene.browser.until("[...document.querySelectorAll('.toast.bad')].some((one) => one.textContent.includes('lock you out'))")?;
    scene.browser.errors(); // the browser notes the refusal
    Ok(())
}
