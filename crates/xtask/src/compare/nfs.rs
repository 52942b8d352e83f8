//! NFS: the rows and bars of issue 2, beside NFS-Ganesha.

use std::path::{Path, PathBuf};

use anyhow::Result;

use super::rows::{Bar, ComparisonRow, RowGroup, RowUnit};
use super::{ComparisonPlace, Contestant, MeasuredServer, folder};
use crate::server::{self, Server, UID};
use crate::{debian, ganesha, loader, ports, process};

pub const PACKAGES: &[&[debian::Package]] = &[debian::NFS_CLIENTS, debian::NFS_PEER];

const PEERS: &[&str] = &["ganesha"];

/// Makes the folder.
pub fn place() -> Result<ComparisonPlace> {
    Ok(ComparisonPlace {
        load: loader::compile("load")?,
        folder: folder::prepare(UID)?,
        peer: None,
        host: None,
    })
}

/// Starts a server with its own files apart from those of other servers of its kind.
pub fn start(folder: &Path, who: MeasuredServer, apart: &str) -> Result<Contestant> {
    let server = match who {
        MeasuredServer::Peer(_) => {
            ganesha::start(folder, &PathBuf::from(format!("target/compare/ganesha{apart}")))?
        }
        MeasuredServer::Ours => server::ours(&server::ServerOptions {
            share: folder,
            state: &process::fresh_folder(&format!("compare/state{apart}"))?,
            portmap_port: "off",
            nfs_port: ports::free_port()?,
        })?,
    };
    let Server { running, address, .. } = server;
    Ok(Contestant { running, reach: loader::nfs_options(&address) })
}

pub fn groups() -> Vec<RowGroup> {
    let mut groups = vec![RowGroup::fresh(IDLE)];
    groups.extend(RowGroup::singles(STREAMS));
    groups.extend(RowGroup::singles(SMALL));
    groups.push(RowGroup::new(vec![BUSY]));
    groups.push(RowGroup::new(FILES.to_vec()));
    groups.push(RowGroup::new(vec![COMMITTED]));
    groups.extend(RowGroup::singles(LISTS));
    groups.push(RowGroup::last(DELETES));
    groups
}

const fn row(
    name: &'static str,
    unit: RowUnit,
    file: &'static str,
    args: &'static str,
    bar: Bar,
) -> ComparisonRow {
    ComparisonRow { name, unit, file, args, peers: PEERS, bar: Some(bar) }
}

const STREAM: Bar = Bar::Times { speed: 1.0, cpu: Some(0.7) };

const IDLE: ComparisonRow =
    row("idle connection memory", RowUnit::Memory, "idle", "idle --count 1000", Bar::AtMost(16.0 * 1024.0));

/// 1 client moves 1 GiB; each of 5 and 10 moves a file of 256 MiB twice.
const STREAMS: &[ComparisonRow] = &[
    row("read 1 GiB 1 client q1", RowUnit::Bytes, "one", "read --size 1073741824", STREAM),
    row("read 1 GiB 1 client q4", RowUnit::Bytes, "one", "read --size 1073741824 --depth 4", STREAM),
    row("read 5 clients q1", RowUnit::Bytes, "many", "read --clients 5 --size 268435456 --passes 2", STREAM),
    row(
        "read 5 clients q4",
        RowUnit::Bytes,
        "many",
        "read --clients 5 --size 268435456 --passes 2 --depth 4",
        STREAM,
    ),
    row(
        "read 10 clients q1",
        RowUnit::Bytes,
        "many",
        "read --clients 10 --size 268435456 --passes 2",
        STREAM,
    ),
    row(
        "read 10 clients q4",
        RowUnit::Bytes,
        "many",
        "read --clients 10 --size 268435456 --passes 2 --depth 4",
        STREAM,
    ),
    row(
        "read 50 clients q4",
        RowUnit::Bytes,
        "crowd",
        "read --clients 50 --size 50331648 --seconds 3 --depth 4",
        STREAM,
    ),
    row(
        "p99 of 4 KiB reads beside 10 streams",
        RowUnit::Tail,
        "crowd",
        "beside --clients 11 --size 50331648 --seconds 3 --depth 4",
        Bar::AtMost(2.0),
    ),
    row("write 1 GiB 1 client q1", RowUnit::Bytes, "one", "write --size 1073741824", STREAM),
    row("write 1 GiB 1 client q4", RowUnit::Bytes, "one", "write --size 1073741824 --depth 4", STREAM),
    row(
        "write 5 clients q1",
        RowUnit::Bytes,
        "many",
        "write --clients 5 --size 268435456 --passes 2",
        STREAM,
    ),
    row(
        "write 5 clients q4",
        RowUnit::Bytes,
        "many",
        "write --clients 5 --size 268435456 --passes 2 --depth 4",
        STREAM,
    ),
    row(
        "write 10 clients q1",
        RowUnit::Bytes,
        "many",
        "write --clients 10 --size 268435456 --passes 2",
        STREAM,
    ),
    row(
        "write 10 clients q4",
        RowUnit::Bytes,
        "many",
        "write --clients 10 --size 268435456 --passes 2 --depth 4",
        STREAM,
    ),
    row("new file 1 GiB q4", RowUnit::Bytes, "fresh", "new --size 1073741824 --depth 4", STREAM),
];

const SMALL: &[ComparisonRow] = &[
    row(
        "read 1 KiB q1",
        RowUnit::Ops,
        "one",
        "small --block 1024 --size 104857600 --seconds 1.5",
        Bar::speed(4.0),
    ),
    row(
        "read 4 KiB q1",
        RowUnit::Ops,
        "one",
        "small --block 4096 --size 104857600 --seconds 1.5",
        Bar::speed(4.0),
    ),
    row(
        "write 1 KiB q1",
        RowUnit::Ops,
        "one",
        "write --block 1024 --size 104857600 --seconds 1.5",
        Bar::speed(1.0),
    ),
    row(
        "random read 4 KiB q1",
        RowUnit::Ops,
        "one",
        "random --block 4096 --size 1073741824 --seconds 1.5",
        Bar::speed(1.0),
    ),
    row(
        "random read 4 KiB q32",
        RowUnit::Ops,
        "one",
        "random --block 4096 --size 1073741824 --depth 32 --seconds 1.5",
        Bar::speed(3.0),
    ),
];

/// Measured on our server only: a process for each connection does not fit in memory.
const BUSY: ComparisonRow = ComparisonRow {
    peers: &[],
    ..row(
        "200 busy beside 10,000 idle",
        RowUnit::Kept,
        "crowd",
        "random --block 4096 --size 50331648 --clients 200 --idle 10000 --seconds 3",
        Bar::Keeps(95.0),
    )
};

const FILES: &[ComparisonRow] = &[
    row("create+write 4 KiB+close", RowUnit::Ops, "new", "create --block 4096 --count 2000", Bar::speed(4.0)),
    row("stat (LOOKUP+GETATTR)", RowUnit::Ops, "new", "stat --count 2000", Bar::speed(3.0)),
];

const DELETES: &[ComparisonRow] =
    &[row("delete", RowUnit::Ops, "new", "remove --count 2000", Bar::speed(4.0))];

const COMMITTED: ComparisonRow = row(
    "create+write 4 KiB+COMMIT",
    RowUnit::Ops,
    "kept",
    "commit --block 4096 --count 2000",
    Bar::Times { speed: 1.0, cpu: Some(0.5) },
);

const LISTS: &[ComparisonRow] = &[
    row(
        "READDIRPLUS 10000 by 8 KiB",
        RowUnit::Ops,
        "dir",
        "list --block 8192 --count 10000 --passes 10",
        Bar::speed(3.0),
    ),
    // With pages of this size libnfs itself takes most of the time: shown but not judged.
    ComparisonRow {
        name: "READDIRPLUS 10000 by 64 KiB",
        unit: RowUnit::Ops,
        file: "dir",
        args: "list --block 65536 --count 10000 --passes 10",
        peers: PEERS,
        bar: None,
    },
];
