//! Packet filters that keep clients out.

use std::process::Command;

use admin::Protocol;

use super::DoctorFinding;

/// Programs that list the rules of the kernel.
const LISTS: [&[&str]; 3] = [&["nft", "list", "ruleset"], &["iptables-legacy-save"], &["iptables-save"]];
/// Where Debian keeps them, which is not in the path of ordinary users.
const FOLDERS: [&str; 2] = ["/usr/sbin", "/sbin"];

/// The rules of the firewall. `None`: no program could list them for this user.
pub(super) fn rules() -> Option<String> {
    let mut listed = LISTS.iter().filter_map(|words| list(words)).peekable();
    listed.peek()?;
    Some(listed.collect())
}

fn list(words: &[&str]) -> Option<String> {
    let (program, arguments) = words.split_first()?;
    let folder = FOLDERS.iter().find(|folder| std::path::Path::new(folder).join(program).exists())?;
    let output = Command::new(format!("{folder}/{program}")).args(arguments).output().ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Whether rules drop what arrives: by the policy of a chain for input, or by a last rule without a condition.
fn drops(rules: &str) -> bool {
    let mut is_input = false;
    rules.lines().map(str::trim).any(|line| {
        if line.starts_with("chain ") {
            is_input = line.to_ascii_lowercase().contains("input");
        }
        let by_policy = line.contains("hook input") && line.contains("policy drop");
        let by_rule = is_input
            && (line == "drop"
                || line.starts_with("reject")
                || line.ends_with(" drop") && line.starts_with("counter"));
        let by_iptables = line.starts_with(":INPUT DROP")
            || ["-A INPUT -j DROP", "-A INPUT -j REJECT"].iter().any(|rule| line.starts_with(rule));
        by_policy || by_rule || by_iptables
    })
}

/// A firewall that drops what arrives and does not name a port probably keeps clients out.
pub(super) fn judged(ports: &[(Option<Protocol>, u16)], rules: Option<&str>) -> DoctorFinding {
    let about = "firewall";
    let Some(rules) = rules else {
        return DoctorFinding::fine(
            about,
            "not examined: its rules cannot be read (`sudo fourfold doctor`, with nftables installed)",
        );
    };
    if !drops(rules) {
        return DoctorFinding::fine(about, "no rule drops what arrives");
    }
    let words: Vec<&str> = rules.split(|c: char| !c.is_ascii_alphanumeric() && c != '-').collect();
    // nft prints the names of known ports.
    let is_named = |protocol: Option<Protocol>| protocol.is_some_and(|one| words.contains(&one.service()));
    let is_open = |protocol, port: &u16| words.contains(&&*port.to_string()) || is_named(protocol);
    let closed: Vec<String> = ports
        .iter()
        .filter(|(protocol, port)| !is_open(*protocol, port))
        .map(|(_, port)| port.to_string())
        .collect();
    if closed.is_empty() {
        return DoctorFinding::fine(
            about,
            "it drops what arrives, and has rules for the ports of the server",
        );
    }
    let found = format!("it drops what arrives, and has no rule for TCP ports {}", closed.join(", "));
    DoctorFinding::warning(about, found, allow(rules, &closed))
}

/// The command that opens ports: that of the program which made the rules.
fn allow(rules: &str, ports: &[String]) -> String {
    let each = |command: &str, end: &str| {
        ports.iter().map(|port| format!("{command}{port}{end}")).collect::<Vec<_>>().join(" && ")
    };
    if rules.contains("ufw") {
        return format!("`{}`", each("sudo ufw allow ", "/tcp"));
    }
    if rules.contains("firewalld") {
        return format!(
            "`{} && sudo firewall-cmd --reload`",
            each("sudo firewall-cmd --permanent --add-port=", "/tcp")
        );
    }
    if rules.contains("hook input") {
        return format!(
            "`sudo nft insert rule inet filter input tcp dport '{{ {} }}' accept`, with your table and chain",
            ports.join(", ")
        );
    }
    format!("`sudo iptables -I INPUT -p tcp -m multiport --dports {} -j ACCEPT`", ports.join(","))
}

#[cfg(test)]
mod tests {
    use super::super::Level;
    use super::*;

    const WANTED: [(Option<Protocol>, u16); 2] = [(Some(Protocol::Smb), 445), (Some(Protocol::Nfs), 2049)];

    fn level(rules: &str) -> Level {
        judged(&WANTED, Some(rules)).level
    }

    #[test]
    fn a_firewall_that_drops_must_name_the_ports() {
        assert_eq!(level(""), Level::Fine);
        let chain = "chain input { type filter hook input priority filter; policy drop;\n";
        let closed = judged(&WANTED, Some(&format!("{chain} tcp dport 445 accept }}")));
        assert_eq!(closed.level, Level::Warning);
        assert!(closed.mend.contains("{ 2049 }"), "{}", closed.mend);
        assert_eq!(level(&format!("{chain} tcp dport {{ 445, nfs }} accept }}")), Level::Fine);
        assert_eq!(level("type filter hook input priority filter; policy accept;"), Level::Fine);
    }

    #[test]
    fn a_last_rule_without_a_condition_drops_too() {
        let firewalld = "table inet firewalld {\n chain filter_INPUT {\n  type filter hook input priority filter + 10; policy accept;\n  \
                         reject with icmpx admin-prohibited\n }\n}\n";
        let closed = judged(&WANTED, Some(firewalld));
        assert!(
            closed.level == Level::Warning
                && closed.mend.contains("firewall-cmd --permanent --add-port=445/tcp"),
            "{closed:?}"
        );
        let other = "table ip nat {\n chain postrouting {\n  drop\n }\n}\n";
        assert_eq!(level(other), Level::Fine, "not a chain for what arrives");
    }

    #[test]
    fn the_older_form_is_understood() {
        let rules = "*filter\n:INPUT DROP [0:0]\n-A INPUT -p tcp -m tcp --dport 445 -j ACCEPT\nCOMMIT\n";
        let closed = judged(&WANTED, Some(rules));
        assert!(closed.level == Level::Warning && closed.mend.contains("--dports 2049"), "{closed:?}");
    }

    #[test]
    fn rules_that_cannot_be_read_are_said_to_be_unknown() {
        assert!(judged(&WANTED, None).found.starts_with("not examined"));
    }
}
