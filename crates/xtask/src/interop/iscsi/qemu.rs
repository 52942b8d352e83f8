//! qemu's own initiator (libiscsi inside): images on LUNs, patterns, holes, snapshots, sizes.

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, Result, ensure};

use super::place::{INITIATOR, IscsiPlace, IscsiServer, LunAddress, said, text};
use crate::interop::outcome::Outcomes;
use crate::{process, server};

pub fn run(outcomes: &mut Outcomes, place: &IscsiPlace, served: &IscsiServer) -> Result<()> {
    let work = place.work("qemu")?;
    let local = Local::make(work.join("local.raw"))?;
    raw(outcomes, served, &local);
    patterns(outcomes, served);
    holes(outcomes, place, served);
    qcow2(outcomes, served, &local, work.join("back.raw"));
    digests(outcomes, served);
    large(outcomes, place, served);
    resize(outcomes, served);
    Ok(())
}

/// An image on the host: 64 MiB in which every block of 4 KiB is different.
struct Local {
    path: String,
    size: u64,
}

impl Local {
    fn make(path: PathBuf) -> Result<Self> {
        let size = 64 << 20;
        let words = (0..size / 8).map(|word: u64| (word >> 9).wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ word);
        fs::write(&path, words.flat_map(u64::to_le_bytes).collect::<Vec<u8>>())?;
        Ok(Self { path: text(&path), size })
    }
}

/// Runs commands of qemu-io. It prints errors on standard output, and exits with success
/// nevertheless.
fn io(options: &[&str], image: &str, commands: &[&str]) -> Result<String> {
    let commands: Vec<&str> = commands.iter().flat_map(|command| ["-c", *command]).collect();
    let options = [options, &commands, &[image]].concat();
    let output = process::output("qemu-io", &options, Duration::from_secs(120))?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let wrong = String::from_utf8_lossy(&output.stderr).into_owned();
    ensure!(output.status.success(), "{}: {text} {wrong}", output.status);
    for word in ["failed", "error", "not supported"] {
        ensure!(!text.contains(word) && !wrong.contains(word), "it says {text} {wrong}");
    }
    Ok(text)
}

/// The same on the LUN itself. Blocks that are discarded or set to zero are unmapped.
fn on_lun(lun: &LunAddress, commands: &[&str]) -> Result<String> {
    io(&["-f", "raw", "-d", "unmap"], &lun.url(), commands)
}

fn raw(outcomes: &mut Outcomes, served: &IscsiServer, local: &Local) {
    outcomes.run("qemu-img: info shows the size", &["qemu-img"], || {
        let url = served.lun("image")?.url();
        let text = said("qemu-img", &["info", "-f", "raw", &url])?;
        ensure!(text.contains("(2147483648 bytes)"), "it says {text}");
        Ok(())
    });
    outcomes.run("qemu-img: convert onto a LUN, and compare", &["qemu-img"], || {
        let url = served.lun("image")?.url();
        said("qemu-img", &["convert", "-n", "-f", "raw", "-O", "raw", &local.path, &url])?;
        // The LUN is larger; the rest of it is zero.
        said("qemu-img", &["compare", "-f", "raw", "-F", "raw", &local.path, &url]).map(drop)
    });
    outcomes.run("qemu-img: convert from LUN to LUN, and compare", &["qemu-img"], || {
        let (from, to) = (served.lun("image")?.url(), served.lun("other")?.url());
        said("qemu-img", &["convert", "-n", "-f", "raw", "-O", "raw", &from, &to])?;
        said("qemu-img", &["compare", "-f", "raw", "-F", "raw", &from, &to]).map(drop)
    });
    outcomes.run("qemu-img: dd from a LUN", &["qemu-img"], || {
        let back = format!("{}.back", local.path);
        let (from, to) = (format!("if={}", served.lun("other")?.url()), format!("of={back}"));
        let count = format!("count={}", local.size >> 20);
        said("qemu-img", &["dd", "-f", "raw", "-O", "raw", "bs=1M", &count, &from, &to])?;
        ensure!(fs::read(&back)? == fs::read(&local.path)?, "the copy differs");
        Ok(fs::remove_file(back)?)
    });
    outcomes.run("qemu-img: bench, 16 under way", &["qemu-img"], || {
        let url = served.lun("image")?.url();
        let options = ["bench", "-f", "raw", "-c", "2000", "-d", "16", "-s", "65536", "-w"];
        said(
            "qemu-img",
            &[&options[..], &["--pattern=90", "--flush-interval=100", "--no-drain", &url]].concat(),
        )
        .map(drop)
    });
}

fn patterns(outcomes: &mut Outcomes, served: &IscsiServer) {
    outcomes.run("qemu-io: write patterns, flush, read them in another session", &["qemu-io"], || {
        let lun = served.lun("image")?;
        on_lun(&lun, &["write -P 0x5a 1M 2M", "write -P 0xa5 3M 512", "write -P 0x11 100M 16M", "flush"])?;
        on_lun(&lun, &["read -P 0x5a 1M 2M", "read -P 0xa5 3M 512", "read -P 0x11 100M 16M"]).map(drop)
    });
    outcomes.run("qemu-io: forced unit access", &["qemu-io"], || {
        on_lun(&served.lun("image")?, &["write -f -P 0x77 5M 64k", "read -P 0x77 5M 64k"]).map(drop)
    });
    outcomes.run("qemu-io: many requests at a time", &["qemu-io"], || {
        let writes: Vec<String> =
            (0..32).map(|at| format!("aio_write -P {} {}k 64k", at + 1, 200 * 1024 + at * 64)).collect();
        let reads = (0..32).map(|at| format!("read -P {} {}k 64k", at + 1, 200 * 1024 + at * 64));
        let all: Vec<String> = writes.into_iter().chain(["aio_flush".into()]).chain(reads).collect();
        on_lun(&served.lun("image")?, &all.iter().map(String::as_str).collect::<Vec<_>>()).map(drop)
    });
    outcomes.run("qemu-io: blocks of 4096 bytes", &["qemu-io"], || {
        on_lun(
            &served.lun("disk-4k")?,
            &["write -P 0x42 1M 3M", "write -P 0x43 4100k 4k", "flush", "read -P 0x43 4100k 4k"],
        )
        .map(drop)
    });
    outcomes.run("qemu-io: a read-only LUN is read, and not written", &["qemu-io"], || {
        let url = served.lun("read-only")?.url();
        let text = said("qemu-io", &["-r", "-f", "raw", "-c", "read -P 0 0 1M", &url])?;
        ensure!(text.contains("read 1048576/1048576") && !text.contains("failed"), "it says {text}");
        let args = ["-f", "raw", "-c", "write 0 64k", &*url];
        let output = process::output("qemu-io", &args, Duration::from_secs(60))?;
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        ensure!(!text.contains("wrote "), "it is written: {text}");
        Ok(())
    });
}

/// The parts that `qemu-img map` reports as data, as (start, length). It asks by GET LBA STATUS.
fn data(lun: &LunAddress) -> Result<Vec<(u64, u64)>> {
    let text = said("qemu-img", &["map", "--output=json", "-f", "raw", &lun.url()])?;
    let parts: Vec<serde_json::Value> = serde_json::from_str(&text)?;
    let number = |part: &serde_json::Value, key: &str| part[key].as_u64().context("no number");
    let data = parts.iter().filter(|part| part["data"] == true);
    data.map(|part| Ok((number(part, "start")?, number(part, "length")?))).collect()
}

fn holes(outcomes: &mut Outcomes, place: &IscsiPlace, served: &IscsiServer) {
    outcomes.run("qemu-img: map shows what is written, and nothing else", &["qemu-img", "qemu-io"], || {
        let lun = served.lun("disk")?;
        ensure!(data(&lun)?.is_empty(), "a new LUN has data: {:?}", data(&lun)?);
        on_lun(&lun, &["write -P 1 64M 8M", "write -P 2 512M 1M", "flush"])?;
        let wanted = [(64 << 20, 8 << 20), (512 << 20, 1 << 20)];
        ensure!(data(&lun)? == wanted, "it is {:?}, not {wanted:?}", data(&lun)?);
        Ok(())
    });
    outcomes.run("qemu-io: discard makes holes that read as zeros", &["qemu-img", "qemu-io"], || {
        let lun = served.lun("disk")?;
        on_lun(&lun, &["discard 66M 2M", "read -P 0 66M 2M", "read -P 1 64M 2M", "read -P 1 68M 4M"])?;
        let wanted = [(64 << 20, 2 << 20), (68 << 20, 4 << 20), (512 << 20, 1 << 20)];
        ensure!(data(&lun)? == wanted, "it is {:?}, not {wanted:?}", data(&lun)?);
        Ok(())
    });
    outcomes.run("qemu-io: zeros are written by WRITE SAME, and can unmap", &["qemu-img", "qemu-io"], || {
        let lun = served.lun("disk")?;
        on_lun(
            &lun,
            &[
                "write -z 69M 1M",
                "read -P 0 69M 1M",
                "read -P 1 68M 1M",
                "write -z -u 512M 1M",
                "read -P 0 512M 1M",
            ],
        )?;
        let found = data(&lun)?;
        ensure!(found.iter().all(|(start, _)| *start < 512 << 20), "it is {found:?}");
        Ok(())
    });
    outcomes.run("qemu-io: what is discarded is given back to the disk", &["qemu-io"], || {
        use std::os::unix::fs::MetadataExt;
        let (lun, image) = (served.lun("disk")?, place.image_of("disk"));
        on_lun(&lun, &["write -P 3 256M 64M", "flush"])?;
        let full = fs::metadata(&image)?.blocks() * 512;
        on_lun(&lun, &["discard 0 1G", "flush"])?;
        let empty = fs::metadata(&image)?.blocks() * 512;
        ensure!(full >= 64 << 20 && empty < 1 << 20, "{full} bytes before, {empty} after");
        Ok(())
    });
}

fn qcow2(outcomes: &mut Outcomes, served: &IscsiServer, local: &Local, back: PathBuf) {
    let on = |served: &IscsiServer| anyhow::Ok(served.lun("other")?.url());
    outcomes.run("qemu-img: a qcow2 image on a LUN", &["qemu-img"], || {
        let url = on(served)?;
        said("qemu-img", &["create", "-f", "qcow2", &url, "1G"])?;
        said("qemu-img", &["convert", "-n", "-f", "raw", "-O", "qcow2", &local.path, &url])?;
        said("qemu-img", &["check", "-f", "qcow2", &url]).map(drop)
    });
    outcomes.run("qemu-img: snapshots inside of it", &["qemu-img", "qemu-io"], || {
        let url = on(served)?;
        io(&["-f", "qcow2"], &url, &["write -P 0x21 500M 4M", "flush"])?;
        said("qemu-img", &["snapshot", "-c", "before", &url])?;
        io(&["-f", "qcow2"], &url, &["write -P 0x22 500M 4M", "read -P 0x22 500M 4M"])?;
        ensure!(said("qemu-img", &["snapshot", "-l", &url])?.contains(" before "), "it is not listed");
        said("qemu-img", &["snapshot", "-a", "before", &url])?;
        io(&["-f", "qcow2"], &url, &["read -P 0x21 500M 4M"])?;
        said("qemu-img", &["snapshot", "-d", "before", &url])?;
        said("qemu-img", &["check", "-f", "qcow2", &url]).map(drop)
    });
    outcomes.run("qemu-img: convert it back", &["qemu-img"], || {
        let (url, back) = (on(served)?, text(&back));
        said("qemu-img", &["convert", "-f", "qcow2", "-O", "raw", &url, &back])?;
        let bytes = fs::read(&back)?;
        ensure!(bytes.len() == 1 << 30 && bytes.starts_with(&fs::read(&local.path)?), "the content differs");
        Ok(fs::remove_file(back)?)
    });
}

fn digests(outcomes: &mut Outcomes, served: &IscsiServer) {
    for digest in ["crc32c", "none", "crc32c-none", "none-crc32c"] {
        outcomes.run(&format!("qemu-io: header digest {digest}"), &["qemu-io"], || {
            let more = format!(",header-digest={digest},initiator-name={INITIATOR}");
            let image = served.lun("image")?.qemu(&more);
            let commands = ["write -P 0x31 10M 1M", "flush", "read -P 0x31 10M 1M"];
            io(&["--image-opts"], &image, &commands).map(drop)
        });
    }
}

/// Offsets beyond 2 TiB, which 32 bits of 512-byte blocks cannot address.
fn large(outcomes: &mut Outcomes, place: &IscsiPlace, served: &IscsiServer) {
    outcomes.run("qemu-io: beyond 2 TiB", &["qemu-io"], || {
        use std::os::unix::fs::MetadataExt;
        let lun = served.lun("big")?;
        let writes =
            ["write -P 0x61 2047G 1M", "write -P 0x62 2T 1M", "write -P 0x63 5368709119k 1k", "flush"];
        on_lun(&lun, &writes)?;
        let reads =
            ["read -P 0x61 2047G 1M", "read -P 0x62 2T 1M", "read -P 0x63 5368709119k 1k", "read -P 0 0 1M"];
        on_lun(&lun, &reads)?;
        let used = fs::metadata(place.image_of("big"))?.blocks() * 512;
        ensure!(used < 64 << 20, "the file takes {used} bytes");
        Ok(())
    });
}

fn resize(outcomes: &mut Outcomes, served: &IscsiServer) {
    let Some(state) = &served.state else { return };
    outcomes.run(
        "fourfold lun: what is made, grown and removed while it runs is seen",
        &["qemu-img"],
        || {
            let (program, state) = (text(&server::binary()), text(state));
            let fourfold = |words: &[&str]| said(&program, &[&["lun"], words, &["--state", &state]].concat());
            let mut lun = served.lun("image")?;
            lun.target = lun.target.replace(".image", ".grown");
            fourfold(&["create", "open/grown", "1G"])?;
            on_lun(&lun, &["write -P 8 1023M 1M", "flush"])?;
            fourfold(&["resize", "open/grown", "3G"])?;
            let text = said("qemu-img", &["info", "-f", "raw", &lun.url()])?;
            ensure!(text.contains("(3221225472 bytes)"), "it says {text}");
            on_lun(
                &lun,
                &["read -P 8 1023M 1M", "read -P 0 1G 1M", "write -P 9 3071M 1M", "read -P 9 3071M 1M"],
            )?;
            fourfold(&["remove", "open/grown", "--yes"]).map(drop)
        },
    );
}
