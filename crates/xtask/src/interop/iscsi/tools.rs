//! libiscsi's tools: discovery, login with CHAP, inquiries, copying.

use std::time::Duration;

use anyhow::{Context, Result, ensure};

use super::place::{
    GUEST, INITIATOR, IscsiPlace, IscsiServer, PREFIX, SECRET, TARGET_SECRET, TARGET_USER, USER, said, text,
};
use crate::interop::outcome::Outcomes;
use crate::process;

const LIMIT: Duration = Duration::from_secs(60);

pub fn run(outcomes: &mut Outcomes, place: &IscsiPlace, served: &IscsiServer) {
    discovery(outcomes, served);
    login(outcomes, served);
    access(outcomes, served);
    inquiry(outcomes, served);
    capacity(outcomes, served);
    write_protection(outcomes, served);
    newer(outcomes, place, served);
}

/// Checks that the program fails within the time limit.
fn refused(program: &str, args: &[&str]) -> Result<()> {
    let output = process::output(program, args, LIMIT)?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    ensure!(!output.status.success(), "{program} {} succeeds and says {text}", args.join(" "));
    Ok(())
}

fn ada() -> String {
    format!("{USER}%{SECRET}@")
}

fn discovery(outcomes: &mut Outcomes, served: &IscsiServer) {
    outcomes.run("iscsi-ls: lists the targets", &["iscsi-ls"], || {
        let text = said("iscsi-ls", &[&served.portal("")])?;
        for target in ["open.suite", "open.image", "open.big"] {
            let line = format!("Target:{PREFIX}:{target} Portal:127.0.0.1:{},1", served.port);
            ensure!(text.lines().any(|found| found == line), "no {line:?} in {text}");
        }
        Ok(())
    });
    outcomes.run("iscsi-ls: lists no target that is not for this initiator", &["iscsi-ls"], || {
        let text = said("iscsi-ls", &[&served.portal("")])?;
        ensure!(!text.contains(":open.mine "), "it says {text}");
        let text = said("iscsi-ls", &["-i", INITIATOR, &served.portal("")])?;
        ensure!(text.contains(":open.mine "), "to {INITIATOR} it says {text}");
        Ok(())
    });
    outcomes.run("iscsi-ls: discovery with CHAP", &["iscsi-ls"], || {
        let text = said("iscsi-ls", &[&served.portal(&ada())])?;
        ensure!(text.contains(":closed.vault "), "it says {text}");
        Ok(())
    });
    outcomes.run("iscsi-ls: discovery with a wrong secret is refused", &["iscsi-ls"], || {
        refused("iscsi-ls", &[&served.portal(&format!("{USER}%not-her-secret@"))])
    });
    outcomes.run("iscsi-ls: -s lists LUNs and their sizes", &["iscsi-ls"], || {
        let text = said("iscsi-ls", &["-s", &served.portal(&ada())])?;
        let sizes = text.lines().filter(|line| line.starts_with("Lun:") && line.contains("DIRECT_ACCESS"));
        ensure!(sizes.clone().count() >= 10, "it says {text}");
        // It asks by READ CAPACITY (10), whose 32 bits end at 2 TiB, and rounds down.
        ensure!(sizes.clone().any(|line| line.contains("(Size:1T)")), "it says {text}");
        Ok(())
    });
}

fn login(outcomes: &mut Outcomes, served: &IscsiServer) {
    let vault = |login: &str| anyhow::Ok(served.lun("vault")?.url_as(login));
    outcomes
        .run("CHAP: the right secret", &["iscsi-inq"], || said("iscsi-inq", &[&vault(&ada())?]).map(drop));
    for (name, who) in [
        ("CHAP: a wrong secret is refused", "ada%wrong-horse-12@"),
        ("CHAP: the beginning of the secret is refused", "ada%correct-horse@"),
        ("CHAP: an unknown user is refused", "eve%correct-horse-12@"),
        ("CHAP: nobody is refused", ""),
    ] {
        outcomes.run(name, &["iscsi-inq"], || refused("iscsi-inq", &[&vault(who)?]));
    }
    outcomes.run("CHAP: an account that may not use the share is refused", &["iscsi-inq"], || {
        refused("iscsi-inq", &[&vault(&format!("{TARGET_USER}%{TARGET_SECRET}@"))?])
    });
    let mutual = |user: &str, secret: &str| {
        anyhow::Ok(format!("{}?target_user={user}&target_password={secret}", vault(&ada())?))
    };
    outcomes.run("mutual CHAP: the target proves itself", &["iscsi-inq"], || {
        said("iscsi-inq", &[&mutual(TARGET_USER, TARGET_SECRET)?]).map(drop)
    });
    outcomes.run("mutual CHAP: the initiator refuses another secret", &["iscsi-inq"], || {
        refused("iscsi-inq", &[&mutual(TARGET_USER, "another-secret-56")?])
    });
    outcomes.run("mutual CHAP: the initiator refuses another name", &["iscsi-inq"], || {
        refused("iscsi-inq", &[&mutual("impostor", TARGET_SECRET)?])
    });
    outcomes.run("login: a target that is not there is refused", &["iscsi-inq"], || {
        let mut lun = served.lun("suite")?;
        lun.target.push_str(".not");
        refused("iscsi-inq", &[&lun.url()])
    });
    outcomes.run("login: a LUN that is not there is refused", &["iscsi-inq"], || {
        let mut lun = served.lun("suite")?;
        lun.number = 77;
        refused("iscsi-readcapacity16", &[&lun.url()])
    });
}

/// The effects of the settings `initiators` and `readers`.
fn access(outcomes: &mut Outcomes, served: &IscsiServer) {
    outcomes.run("initiators: a stranger is refused", &["iscsi-inq"], || {
        refused("iscsi-inq", &[&served.lun("mine")?.url()])
    });
    outcomes.run("initiators: who is named comes in", &["iscsi-inq"], || {
        said("iscsi-inq", &["-i", INITIATOR, &served.lun("mine")?.url()]).map(drop)
    });
    let write_as = |initiator: &str| {
        let image = served.lun("readers")?.qemu(&format!(",initiator-name={initiator}"));
        let args = ["--image-opts", &image, "-c", "write -P 7 0 64k", "-c", "read -P 7 0 64k"];
        anyhow::Ok(process::output("qemu-io", &args, LIMIT)?)
    };
    outcomes.run("readers: they read, and cannot write", &["qemu-io"], || {
        let wrote = write_as(INITIATOR)?;
        let text = String::from_utf8_lossy(&wrote.stdout).into_owned();
        ensure!(text.contains("wrote 65536/65536") && text.contains("read 65536/65536"), "a writer: {text}");
        let wrote = write_as(GUEST)?;
        let (out, err) = (String::from_utf8_lossy(&wrote.stdout), String::from_utf8_lossy(&wrote.stderr));
        ensure!(!out.contains("wrote "), "a reader writes: {out} {err}");
        let image = served.lun("readers")?.qemu(&format!(",initiator-name={GUEST}"));
        let text = said("qemu-io", &["-r", "--image-opts", &image, "-c", "read -P 7 0 64k"])?;
        ensure!(text.contains("read 65536/65536") && !text.contains("failed"), "a reader: {text}");
        Ok(())
    });
}

fn inquiry(outcomes: &mut Outcomes, served: &IscsiServer) {
    let inq = |page: &str| {
        let url = served.lun("suite")?.url();
        let args = if page.is_empty() { vec![&*url] } else { vec!["-e", "1", "-c", page, &*url] };
        said("iscsi-inq", &args)
    };
    outcomes.run("iscsi-inq: a disk of SBC-3 behind iSCSI", &["iscsi-inq"], || {
        let text = inq("")?;
        for word in
            ["Peripheral Device Type:DIRECT_ACCESS", "Removable:0", "CmdQue:1", "SBC-3", "SPC-4", "iSCSI"]
        {
            ensure!(text.contains(word), "no {word:?} in {text}");
        }
        Ok(())
    });
    // The pages that SPC-4 and SBC-3 require, and those of thin disks, with a word that each must
    // contain.
    for (page, word) in [
        ("0", "Page:0x83 DEVICE_IDENTIFICATION"),
        ("128", "Unit Serial Number:["),
        ("131", "Designator Type:(3) NAA"),
        ("176", "maximum unmap lba count"),
        ("177", "Medium Rotation Rate:"),
        ("178", "lbpu:1"),
    ] {
        outcomes.run(&format!("iscsi-inq: vital product data page {page}"), &["iscsi-inq"], || {
            let text = inq(page)?;
            ensure!(text.to_lowercase().contains(&word.to_lowercase()), "no {word:?} in {text}");
            Ok(())
        });
    }
    outcomes.run("iscsi-inq: a page that is not there is refused", &["iscsi-inq"], || {
        refused("iscsi-inq", &["-e", "1", "-c", "193", &served.lun("suite")?.url()])
    });
}

fn capacity(outcomes: &mut Outcomes, served: &IscsiServer) {
    for (lun, words) in [
        ("suite", ["LBPME:1", "LBPRZ:1", "LOGICAL BLOCK LENGTH IN BYTES:512", "Total size:104857600"]),
        ("suite-4k", ["LBPME:1", "LBPRZ:1", "LOGICAL BLOCK LENGTH IN BYTES:4096", "Total size:104857600"]),
        (
            "big",
            ["LBPME:1", "LBPRZ:1", "RETURNED LOGICAL BLOCK ADDRESS:10737418239", "Total size:5497558138880"],
        ),
    ] {
        outcomes.run(&format!("iscsi-readcapacity16: {lun}"), &["iscsi-readcapacity16"], || {
            let text = said("iscsi-readcapacity16", &[&served.lun(lun)?.url()])?;
            for word in words {
                ensure!(text.contains(word), "no {word:?} in {text}");
            }
            Ok(())
        });
    }
}

/// The control mode page's software write protection.
fn write_protection(outcomes: &mut Outcomes, served: &IscsiServer) {
    outcomes.run("iscsi-swp: write protection on and off", &["iscsi-swp", "qemu-io"], || {
        let url = served.lun("suite")?.url();
        let write =
            || anyhow::Ok(process::output("qemu-io", &["-f", "raw", "-c", "write 0 64k", &url], LIMIT)?);
        said("iscsi-swp", &["-s", "on", &url])?;
        let shown = said("iscsi-swp", &[&url]);
        let protected = write();
        said("iscsi-swp", &["-s", "off", &url])?;
        ensure!(shown?.contains("SWP:1"), "it is not shown");
        let text = String::from_utf8_lossy(&protected?.stdout).into_owned();
        ensure!(!text.contains("wrote "), "a write succeeds: {text}");
        let text = String::from_utf8_lossy(&write()?.stdout).into_owned();
        ensure!(text.contains("wrote 65536/65536"), "no write afterwards: {text}");
        Ok(())
    });
}

pub fn speed(outcomes: &mut Outcomes, served: &IscsiServer) {
    for (name, options) in [
        ("iscsi-perf: reads in order", &["-b", "256", "-m", "16"][..]),
        ("iscsi-perf: reads all over, many under way", &["-r", "-b", "8", "-m", "128"][..]),
    ] {
        outcomes.run(name, &["iscsi-perf"], || {
            let url = served.lun("image")?.url();
            let text = said("iscsi-perf", &[options, &["-t", "3", &url]].concat())?;
            let average = text.rsplit("iops average ").next().and_then(|rest| rest.split_whitespace().next());
            let average: u64 = average.context("no average")?.parse().with_context(|| text.clone())?;
            ensure!(average > 0 && !text.contains("failed"), "it says {text}");
            Ok(())
        });
    }
}

/// Tools that Debian 12's libiscsi-bin does not have yet.
fn newer(outcomes: &mut Outcomes, place: &IscsiPlace, served: &IscsiServer) {
    outcomes.run("iscsi-md5sum: the sum of a LUN", &["iscsi-md5sum", "md5sum"], || {
        let sum = said("iscsi-md5sum", &[&served.lun("suite")?.url()])?;
        let real = said("md5sum", &[&text(&place.image_of("suite"))])?;
        ensure!(sum.split_whitespace().next() == real.split_whitespace().next(), "{sum} is not {real}");
        Ok(())
    });
    outcomes.run("iscsi-rtpg: one group of one port, active", &["iscsi-rtpg"], || {
        let text = said("iscsi-rtpg", &[&served.lun("suite")?.url()])?;
        ensure!(
            text.contains("retrieved 1 groups") && text.contains("state ACTIVE-OPTIMIZED"),
            "it says {text}"
        );
        Ok(())
    });
    outcomes.run("iscsi-pr: no keys are registered", &["iscsi-pr"], || {
        said("iscsi-pr", &["-i", INITIATOR, "--read-keys", &served.lun("suite")?.url()]).map(drop)
    });
}
