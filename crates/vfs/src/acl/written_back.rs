//! Lists that clients write back. A client reads an ACL in the form of its protocol, changes an entry, and sends the whole list.
//! That form says less than the stored one: who is meant by a number, marks, inheritance. An entry that comes back as it was shown
//! stays what it was, and a list that comes back as it was shown changes nothing.

use super::Entry;

/// The list that a client has sent, with each entry that it had read as it was `before`; `None` if it has sent the list that it
/// had read. `as_sent` is an entry in the form in which it comes back; `None` for one that clients of the protocol do not see.
pub fn written_back(
    before: &[Entry],
    sent: Vec<Entry>,
    as_sent: impl Fn(&Entry) -> Option<Entry>,
) -> Option<Vec<Entry>> {
    let shown: Vec<Option<Entry>> = before.iter().map(as_sent).collect();
    let known = recognized(before, &sent.iter().collect::<Vec<_>>(), &shown)?;
    Some(known.into_iter().zip(sent).map(|(known, sent)| known.unwrap_or(sent)).collect())
}

/// For each entry that a client has sent, the one `before` that it had read; `None` for a new one. `None` as a whole: it has sent the
/// list that it had read. `shown` has the form in which each entry of `before` comes back, or `None` for one that clients do not see.
pub fn recognized<S: PartialEq>(
    before: &[Entry],
    sent: &[&S],
    shown: &[Option<S>],
) -> Option<Vec<Option<Entry>>> {
    let shown = shown.iter().zip(before).filter_map(|(shown, entry)| Some((shown.as_ref()?, entry)));
    let mut shown: Vec<(&S, &Entry)> = shown.collect();
    if sent.len() == shown.len() && sent.iter().zip(&shown).all(|(sent, (shown, _))| sent == shown) {
        return None;
    }
    let as_it_was = |sent: &&S| {
        let at = shown.iter().position(|(shown, _)| shown == sent)?;
        Some(shown.remove(at).1.clone())
    };
    Some(sent.iter().map(as_it_was).collect())
}
