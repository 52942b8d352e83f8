//! The image for containers: an OCI image layout in a tar archive. It is written without a daemon.
//!
//! The image has the program, the libraries that it needs from this machine, and nothing else: no shell.

use anyhow::{Context, Result};
use jiff::Timestamp;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::tree::PackedTree;
use super::{PackageParts, contents, hex};

const MANIFEST: &str = "application/vnd.oci.image.manifest.v1+json";
const CONFIG: &str = "application/vnd.oci.image.config.v1+json";
const LAYER: &str = "application/vnd.oci.image.layer.v1.tar+gzip";
/// SMB, AFP, NFS, iSCSI, portmap and the API.
const PORTS: &[&str] =
    &["445/tcp", "548/tcp", "2049/tcp", "2049/udp", "3260/tcp", "111/tcp", "111/udp", "8443/tcp"];
/// Packages of Debian whose files are copied to the image, for their copyright.
const LIBRARY_PACKAGES: &[&str] = &["libc6", "libgcc-s1"];

/// The name and the bytes.
pub fn make(parts: &PackageParts) -> Result<(String, Vec<u8>)> {
    let tar = files(parts)?.tar("", parts.time)?;
    let created = Timestamp::from_second(parts.time.cast_signed())?.to_string();
    let architecture = parts.program.debian_architecture()?; // the same names as Go's, which OCI uses
    let mut tree = PackedTree::default();
    let config = json!({
        "created": created,
        "architecture": architecture,
        "os": "linux",
        "config": {
            "Entrypoint": ["/usr/bin/fourfold"],
            "Cmd": ["serve", "--config", "/etc/fourfold/fourfold.toml"],
            "Env": ["PATH=/usr/bin"],
            "ExposedPorts": PORTS.iter().map(|port| ((*port).to_owned(), json!({}))).collect::<serde_json::Map<_, _>>(),
            "Volumes": {"/var/lib/fourfold": {}},
            "StopSignal": "SIGTERM",
            "Labels": {
                "org.opencontainers.image.title": "fourfold",
                "org.opencontainers.image.version": parts.version,
                "org.opencontainers.image.licenses": "MIT OR Apache-2.0",
            },
        },
        "rootfs": {"type": "layers", "diff_ids": [format!("sha256:{}", hex(&Sha256::digest(&tar)))]},
        "history": [{"created": created, "created_by": "cargo xtask package oci"}],
    });
    let layer = blob(&mut tree, LAYER, &parts.compress(&tar)?);
    let config = blob(&mut tree, CONFIG, &serde_json::to_vec(&config)?);
    let manifest = json!({"schemaVersion": 2, "mediaType": MANIFEST, "config": config, "layers": [layer]});
    let mut manifest = blob(&mut tree, MANIFEST, &serde_json::to_vec(&manifest)?);
    manifest["platform"] = json!({"architecture": architecture, "os": "linux"});
    manifest["annotations"] = json!({"org.opencontainers.image.ref.name": parts.version});
    let index = json!({"schemaVersion": 2, "mediaType": "application/vnd.oci.image.index.v1+json", "manifests": [manifest]});
    tree.file("index.json", serde_json::to_vec(&index)?);
    tree.file("oci-layout", r#"{"imageLayoutVersion":"1.0.0"}"#);
    Ok((format!("fourfold-{}-oci-{architecture}.tar", parts.version), tree.tar("", parts.time)?))
}

/// Adds content under its digest, and describes it.
fn blob(tree: &mut PackedTree, kind: &str, bytes: &[u8]) -> Value {
    let digest = hex(&Sha256::digest(bytes));
    tree.file(&format!("blobs/sha256/{digest}"), bytes);
    json!({"mediaType": kind, "digest": format!("sha256:{digest}"), "size": bytes.len()})
}

/// The file system of the image.
fn files(parts: &PackageParts) -> Result<PackedTree> {
    let mut tree = PackedTree::default();
    tree.program("usr/bin/fourfold", parts.program.bytes.clone());
    for library in &parts.program.libraries {
        let bytes = std::fs::read(library).with_context(|| format!("cannot read {}", library.display()))?;
        tree.program(library.to_string_lossy().trim_start_matches('/'), bytes);
    }
    for package in LIBRARY_PACKAGES.iter().filter(|_| !parts.program.is_static()) {
        let path = format!("usr/share/doc/{package}/copyright");
        if let Ok(bytes) = std::fs::read(format!("/{path}")) {
            tree.file(&path, bytes); // other systems than Debian have it elsewhere
        }
    }
    tree.file(
        "etc/passwd",
        "root:x:0:0:root:/root:/sbin/nologin\nnobody:x:65534:65534:nobody:/:/sbin/nologin\n",
    );
    tree.file("etc/group", "root:x:0:\nnogroup:x:65534:\n");
    tree.file("etc/nsswitch.conf", "passwd: files\ngroup: files\nhosts: files dns\n");
    tree.file("etc/fourfold/fourfold.toml", contents::read("packaging/fourfold.toml")?);
    for licence in ["LICENSE-APACHE", "LICENSE-MIT"] {
        tree.file(&format!("usr/share/doc/fourfold/{licence}"), contents::read(licence)?);
    }
    tree.file("usr/share/doc/fourfold/third-party.txt", parts.third_party.as_bytes());
    tree.folder("var/lib/fourfold", 0o700);
    tree.folder("srv", 0o755);
    tree.folder("tmp", 0o1777);
    Ok(tree)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn content_is_found_by_its_digest() {
        let mut tree = PackedTree::default();
        let described = blob(&mut tree, CONFIG, b"{}");
        let digest = "44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a"; // of `{}`
        assert_eq!(described["digest"], format!("sha256:{digest}"));
        assert_eq!(tree.files().collect::<Vec<_>>(), [(&*format!("blobs/sha256/{digest}"), &b"{}"[..])]);
    }
}
