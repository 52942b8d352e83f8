//! The names of the shares that exports become.

use std::path::Path;

/// The longest name of a share.
const LONGEST: usize = 80;

/// A name that no other export has: the folder's own, else with those of the folders above, else with a number.
pub(super) fn name(path: &Path, taken: &mut Vec<String>) -> String {
    let parts: Vec<String> =
        path.iter().map(|part| plain(&part.to_string_lossy())).filter(|part| !part.is_empty()).collect();
    let short = (1..=parts.len().max(1)).map(|count| match parts.len().checked_sub(count) {
        Some(from) => parts[from..].join("_"),
        None => "root".to_owned(),
    });
    let short: Vec<String> = short.map(|name| name.chars().take(LONGEST).collect()).collect();
    let last = short.last().cloned().unwrap_or_default();
    let numbered =
        (2_u32..).map(|number| format!("{}-{number}", last.chars().take(LONGEST - 11).collect::<String>()));
    let is_free = |name: &String| taken.iter().all(|other| !other.eq_ignore_ascii_case(name));
    let name = short.into_iter().chain(numbered).find(is_free).unwrap_or(last);
    taken.push(name.clone());
    name
}

/// A name without the characters that no share may have.
pub(in crate::commands::adopt) fn plain_name(name: &str) -> String {
    match plain(name) {
        name if name.is_empty() => "share".into(),
        name => name.chars().take(LONGEST).collect(),
    }
}

fn plain(part: &str) -> String {
    let allowed = |c: char| if c.is_control() || "/\\:*?\"<>|+=;,[]".contains(c) { '_' } else { c };
    let plain: String = part.chars().map(allowed).collect();
    plain.trim_matches([' ', '_', '.']).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_with_one_last_name_get_two_share_names() {
        let mut taken = Vec::new();
        let names = ["/srv/a/data", "/srv/b/data", "/srv/b/DATA", "/", "/srv/x: y", "/b/data", "/b_data"]
            .map(|path| name(Path::new(path), &mut taken));
        assert_eq!(
            names,
            ["data", "b_data", "srv_b_DATA", "root", "x_ y", "b_data-2", "b_data-3"].map(String::from)
        );
    }
}
