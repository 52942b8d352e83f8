//! A new studio: three people, a group and a share for their team, made by the page alone; then each edits what another made.

use std::time::Duration;

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};

use super::accounts::{fill, give_own_password};
use super::checks::{Scene, shows};
use super::place::ADMIN;
use crate::process;

/// The three people.
const PEOPLE: [&str; 3] = ["katherine", "dorothy", "mary"];
/// Their password.
const PASSWORD: &str = "three at one table";
/// Their group, and their share.
const TEAM: &str = "atelier";
/// Somebody with an account who is not in the group.
const OUTSIDER: (&str, &str) = ("grace", "secret of grace");

/// What a share can be for, beside a team.
const PURPOSES: [&str; 7] = ["drop", "read", "private", "homes", "backups", "video", "archive"];
/// What a run of smbclient may take.
const LIMIT: Duration = Duration::from_secs(60);
/// What SMB answers to whom the share is closed.
const DENIED: &str = "NT_STATUS_ACCESS_DENIED";

/// Three people, one group, one share: all by the page.
pub fn made(scene: &mut Scene) -> Result<()> {
    for name in PEOPLE {
        scene.open("overview")?;
        scene.open("accounts?new")?;
        fill(scene, &[("#account-name", name), ("#account-password", "short")])?;
        scene.browser.until("!document.querySelector('#account-password').validity.valid")?;
        fill(scene, &[("#account-password", PASSWORD), ("#account-password-again", PASSWORD)])?;
        scene.click("#account-form button[type=submit]")?;
        give_own_password(scene, ADMIN.1)?;
        scene.browser.until("!document.querySelector('#account-form')")?;
    }
    scene.click("#new-group")?;
    fill(scene, &[("#group-name", TEAM), ("#group-accounts", &PEOPLE.join(", "))])?;
    scene.click("#group-form button[type=submit]")?;
    give_own_password(scene, ADMIN.1)?;
    let row = format!(
        "[...document.querySelectorAll('main tbody tr')].find((row) => row.innerText.startsWith('{TEAM}'))"
    );
    scene.browser.until(&format!("{row}?.innerText.includes('mary')"))?;
    share(scene)?;
    ensure!(
        scene.place.settings()?.contains(&format!("editors = [\"@{TEAM}\"]")),
        "{}",
        scene.place.settings()?
    );
    scene.expect_no_errors()
}

/// The folder is made where the browser of folders is, and the own password is asked for once.
fn share(scene: &mut Scene) -> Result<()> {
    scene.open("shares?new")?;
    scene.browser.until("document.querySelector('#new-editors')")?;
    scene.browser.evaluate("[...document.querySelectorAll('#new-share button')].find((one) => one.textContent === 'Browse…').click()")?;
    give_own_password(scene, ADMIN.1)?;
    let folder = scene.place.folder().canonicalize()?;
    scene.click(&format!("#browser [aria-label={}]", json!(format!("Open {}", folder.display()))))?;
    scene.browser.until("document.querySelector('#browser [aria-label=\"Open archive\"]')")?;
    fill(scene, &[("#browser input", TEAM)])?;
    scene.browser.evaluate("document.querySelector('#browser input').focus()")?;
    scene.browser.press("Enter", 13)?;
    scene.browser.until(&format!("document.querySelector('#new-path').value.endsWith('/{TEAM}') && document.querySelector('#new-name').value === '{TEAM}'"))?;
    scene.click(&format!("#new-share [aria-label^='Remove {}']", ADMIN.0))?;
    scene.browser.evaluate("document.querySelector('#new-editors').focus()")?;
    scene.browser.type_text(&format!("@{TEAM}"))?;
    scene.browser.press("Enter", 13)?;
    scene.browser.until(&shows(&format!("{TEAM} (group): changes all files, also those of others.")))?;
    scene.click("#new-share button[type=submit]")?;
    scene
        .browser
        .until(&format!("document.querySelector('.made')?.innerText.includes('{TEAM} is shared')"))?;
    scene.browser.until("document.querySelector('.made').innerText.includes('smb://')")
}

/// What the other purposes set is accepted, and the shares are served.
pub fn purposes(scene: &mut Scene) -> Result<()> {
    let name = |purpose: &str| format!("for {purpose}");
    for purpose in PURPOSES {
        scene.open("overview")?;
        scene.open("shares?new")?;
        scene.browser.until("document.querySelector('#new-share .picker')")?;
        scene.click(&format!("#new-share input[value={purpose}]"))?;
        let folder = scene.place.folder().join(name(purpose));
        fill(scene, &[("#new-path", &folder.to_string_lossy()), ("#new-name", &name(purpose))])?;
        if purpose == "drop" {
            fill(scene, &[("#new-drop", "everyone")])?;
        }
        scene.click("#new-share button[type=submit]")?;
        give_own_password(scene, ADMIN.1)?;
        scene.browser.until(&format!(
            "document.querySelector('.made')?.innerText.includes('for {purpose} is shared')"
        ))?;
    }
    let status: Value = serde_json::from_str(&scene.place.run(&["status", "--json"])?)?;
    let shares = status["shares"].as_array().context("no shares")?;
    for purpose in PURPOSES {
        ensure!(
            shares.iter().any(|share| share["name"] == name(purpose)),
            "{purpose}: it is not served: {shares:?}"
        );
    }
    scene.expect_no_errors()
}

/// Each of the three edits, renames and removes what another has made; others may not enter.
pub fn used(scene: &mut Scene) -> Result<()> {
    for (index, maker) in PEOPLE.into_iter().enumerate() {
        let other = PEOPLE[(index + 1) % PEOPLE.len()];
        let [first, second] = ["first", "second"].map(|version| format!("{version} version of {maker}"));
        put(scene, maker, &format!("plan of {maker}"), &first)?;
        put(scene, other, &format!("plan of {maker}"), &second)?;
        let found =
            std::fs::read_to_string(scene.place.folder().join(TEAM).join(format!("plan of {maker}")))?;
        ensure!(found == second, "{other} has not changed the file of {maker}: {found}");
        smb(
            scene,
            (other, PASSWORD),
            &format!("mkdir \"by {maker}\"; rename \"plan of {maker}\" \"by {maker}\\plan\""),
        )?;
        smb(scene, (maker, PASSWORD), &format!("del \"by {maker}\\plan\"; rmdir \"by {maker}\""))?;
    }
    let refused = smb(scene, OUTSIDER, "ls").err().context("the share is open to others")?;
    ensure!(format!("{refused:#}").contains(DENIED), "{refused:#}");
    Ok(())
}

/// One of the team may only read one folder, until all is again as in the share.
pub fn folder(scene: &mut Scene) -> Result<()> {
    let (reader, other) = (PEOPLE[2], PEOPLE[1]);
    smb(scene, (other, PASSWORD), "mkdir 2019")?;
    put(scene, other, "2019\\accounts", "closed")?;
    scene.open("overview")?;
    scene.open(&format!("rights?share={TEAM}&path=2019"))?;
    scene.browser.until(&shows("all is as in the share"))?;
    fill(scene, &[("#folder-who", reader), ("#folder-role", "reader")])?;
    scene.click("#folder-rights button[type=submit]")?;
    give_own_password(scene, ADMIN.1)?;
    scene.browser.until("document.querySelector('[data-job][data-state=done]')")?;
    scene
        .browser
        .until(&format!("document.querySelector('#folder-rights tbody')?.innerText.includes('{reader}')"))?;
    ask_about(scene, reader)?;
    scene.browser.until("document.querySelector('[data-operation=read].may') && document.querySelector('[data-operation=write]:not(.may)')")?;
    smb(scene, (reader, PASSWORD), "get 2019\\accounts /dev/null")?;
    let refused = put(scene, reader, "2019\\accounts", "changed").err().context("a reader changes a file")?;
    ensure!(format!("{refused:#}").contains(DENIED), "{refused:#}");
    put(scene, other, "2019\\accounts", "changed")?;
    scene.browser.evaluate("[...document.querySelectorAll('#folder-rights button')].find((one) => one.textContent === 'Reset…').click()")?;
    scene.click("#confirm-yes")?;
    give_own_password(scene, ADMIN.1)?;
    scene.browser.until(&shows("all is as in the share"))?;
    scene.browser.until("document.querySelector('[data-job][data-state=done]')")?;
    put(scene, reader, "2019\\accounts", "changed by a colleague")?;
    scene.expect_no_errors()
}

/// Chooses a person in the page's question.
fn ask_about(scene: &mut Scene, who: &str) -> Result<()> {
    let choose = format!(
        "(() => {{ const field = document.querySelector('#rights-person'); field.value = '{who}'; field.dispatchEvent(new Event('change')); }})()"
    );
    scene.browser.evaluate(&choose).map(drop)
}

/// The page says what each may do, and gives somebody else a role, which counts at once.
pub fn rights(scene: &mut Scene) -> Result<()> {
    put(scene, PEOPLE[0], "brief", "for all")?;
    scene.open(&format!("rights?share={TEAM}"))?;
    let may = |scene: &mut Scene, who: &str, operations: &[(&str, bool)]| -> Result<()> {
        ask_about(scene, who)?;
        scene
            .browser
            .until(&format!("document.querySelector('.verdict')?.innerText.startsWith('{who}:')"))?;
        for (operation, may) in operations {
            let shown = format!("[data-operation={operation}]{}", if *may { ".may" } else { ":not(.may)" });
            scene.browser.until(&format!("document.querySelector('{shown}')"))?;
        }
        Ok(())
    };
    may(scene, PEOPLE[1], &[("read", true), ("write", true), ("rights", false)])?;
    may(scene, OUTSIDER.0, &[("read", false), ("write", false)])?;
    fill(scene, &[("#rights-who", OUTSIDER.0), ("#rights-role", "readers")])?;
    scene.click("#rights-add")?;
    scene.browser.until(&shows("grace: reads."))?;
    scene.click("#roles button[type=submit]")?;
    give_own_password(scene, ADMIN.1)?;
    may(scene, OUTSIDER.0, &[("read", true), ("write", false)])?;
    smb(scene, OUTSIDER, "get brief /dev/null")?;
    let refused = smb(scene, OUTSIDER, "del brief").err().context("a reader removes a file")?;
    ensure!(format!("{refused:#}").contains(DENIED), "{refused:#}");
    scene.expect_no_errors()
}

fn put(scene: &Scene, who: &str, name: &str, text: &str) -> Result<()> {
    let local = scene.place.folder().join("to send");
    std::fs::write(&local, text)?;
    smb(scene, (who, PASSWORD), &format!("put \"{}\" \"{name}\"", local.display()))
}

/// Runs commands of smbclient in the share. smbclient tells of some refusals in its output only.
fn smb(scene: &Scene, (user, password): (&str, &str), commands: &str) -> Result<()> {
    let (port, share, login) =
        (scene.place.port("smb")?.to_string(), format!("//127.0.0.1/{TEAM}"), format!("{user}%{password}"));
    let words = [&*share, "-s", "/dev/null", "-p", &port, "-U", &login, "-c", commands];
    let output = process::output("smbclient", &words, LIMIT)?;
    let text =
        String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success() && !text.contains("NT_STATUS_"), "{user}: {commands}: {text}");
    Ok(())
}
