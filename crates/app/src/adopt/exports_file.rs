//! The exports of `/etc/exports`, exports(5).

use std::path::{Path, PathBuf};

use super::clients::host;
use super::share::{Share, quoted};
use super::translated::Translated;

/// Options that need no translation: the server does it always, or clients do not depend on it.
const IRRELEVANT: &[&str] = &[
    "acl",
    "async",
    "auth_nlm",
    "crossmnt",
    "hide",
    "no_acl",
    "no_pnfs",
    "no_subtree_check",
    "no_wdelay",
    "nohide",
    "pnfs",
    "secure_locks",
    "subtree_check",
    "sync",
    "wdelay",
];

/// Translates the text of an exports file.
pub(super) fn translate(_file: &Path, text: &str) -> Translated {
    let mut translated = Translated::default();
    let mut shares: Vec<Share> = Vec::new();
    for line in text.replace("\\\n", " ").lines() {
        let fields = fields(line.split('#').next().unwrap_or_default());
        let Some((path, clients)) = fields.split_first() else { continue };
        let at = match shares.iter().position(|share| share.path == Path::new(path)) {
            Some(at) => at,
            None => {
                shares.push(named(path));
                shares.len() - 1
            }
        };
        let Some(share) = shares.get_mut(at) else { continue };
        let mut defaults = String::new();
        for client in clients {
            match client.strip_prefix('-') {
                Some(options) => defaults = options.into(),
                None => rule(share, client, &defaults),
            }
        }
        if clients.is_empty() {
            rule(share, "*", &defaults);
        }
    }
    for share in &shares {
        let note = format!("exports: clients mount {} as HOST:/{}", share.path.display(), share.name);
        translated.notes.push(note);
    }
    translated.shares = shares;
    translated
}

fn named(path: &str) -> Share {
    let path = PathBuf::from(path);
    let name = path.file_name().map_or_else(|| "root".into(), |name| name.to_string_lossy().into_owned());
    Share::new(&name, &path, "nfs")
}

/// The fields of a line; blanks in quotes or as `\040` belong to a field.
fn fields(line: &str) -> Vec<String> {
    let (mut fields, mut field, mut in_quotes) = (Vec::new(), String::new(), false);
    for c in line.chars() {
        match c {
            '"' => in_quotes = !in_quotes,
            ' ' | '\t' if !in_quotes => fields.push(std::mem::take(&mut field)),
            c => field.push(c),
        }
    }
    fields.push(field);
    fields.retain(|field| !field.is_empty());
    fields.into_iter().map(|field| field.replace("\\040", " ")).collect()
}

/// A client and its options: `192.168.1.0/24(rw,no_root_squash)`.
fn rule(share: &mut Share, client: &str, defaults: &str) {
    let (name, options) = client.split_once('(').unwrap_or((client, ""));
    let options = options.trim_end_matches(')');
    let Some(host) = host(if name.is_empty() { "*" } else { name }) else {
        let note = format!("the client {client}: rules have addresses and networks only");
        return share.untranslated.push(note);
    };
    // exports(5): read only, root squashed and secure ports, unless it says otherwise.
    let (mut access, mut squash, mut secure) = ("ro", "root", true);
    let mut anonymous = Vec::new();
    for option in defaults.split(',').chain(options.split(',')).filter(|option| !option.is_empty()) {
        match option.split_once('=').unwrap_or((option, "")) {
            ("rw", _) => access = "rw",
            ("ro", _) => access = "ro",
            ("root_squash", _) => squash = "root",
            ("no_root_squash", _) => squash = "none",
            ("all_squash", _) => squash = "all",
            ("no_all_squash", _) if squash == "all" => squash = "root",
            ("no_all_squash", _) => {}
            ("secure", _) => secure = true,
            ("insecure", _) => secure = false,
            ("anonuid", id) => anonymous.push(("anon-uid", id.to_owned())),
            ("anongid", id) => anonymous.push(("anon-gid", id.to_owned())),
            ("fsid" | "uuid", _) => {}
            ("sec", "sys") => {}
            (other, _) if IRRELEVANT.contains(&other) => {}
            _ => share.untranslated.push(format!("{option}, for {name}")),
        }
    }
    let mut rule = vec![("match", quoted(&host)), ("access", quoted(access)), ("squash", quoted(squash))];
    rule.extend(anonymous);
    if secure {
        rule.push(("secure", "true".into()));
    }
    share.clients.push(rule);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clients_become_rules_in_their_order() {
        let text = "# the exports\n\"/srv/my films\" 192.168.1.0/24(rw,sync,no_root_squash,insecure) *.example.com(ro) \\\n *(all_squash,anonuid=99)\n\
                    /srv/data -rw,sec=krb5 10.0.0.5\n";
        let translated = translate(Path::new("file"), text);
        let [films, data] = &translated.shares[..] else { panic!("{translated:?}") };
        let rule = |pairs: &[(&'static str, &str)]| {
            pairs.iter().map(|(a, b)| (*a, (*b).to_owned())).collect::<Vec<_>>()
        };
        assert_eq!((&films.path, &*films.name), (&PathBuf::from("/srv/my films"), "my films"));
        assert_eq!(
            films.clients,
            [
                rule(&[("match", "\"192.168.1.0/24\""), ("access", "\"rw\""), ("squash", "\"none\"")]),
                rule(&[
                    ("match", "\"*\""),
                    ("access", "\"ro\""),
                    ("squash", "\"all\""),
                    ("anon-uid", "99"),
                    ("secure", "true")
                ]),
            ]
        );
        assert_eq!(films.untranslated.len(), 1);
        assert_eq!(data.untranslated, ["sec=krb5, for 10.0.0.5"]);
    }
}
