//! The views of names, crates/formats/src/names: going to a view and back gives the same name, whatever its bytes.

use formats::names::cap::Charset;
use formats::names::{
    FILE_LIMIT, FoldedKey, Folding, Map, Name, cap, detect_map, folds_alike, from_mac_view, from_short_view,
    from_windows_view, has_other_forms, long, mac_view, one_form, other_forms, parse_mangled, plain_form,
    report, short_view, tagged_mac_view, to_hfs_nfd, to_nfc, windows_view,
};

/// An id that a short name may have to carry.
const ID: u32 = 0x1234;
const FOLDINGS: [Folding; 2] = [
    Folding { case_sensitive: false, normalisation_sensitive: false },
    Folding { case_sensitive: true, normalisation_sensitive: false },
];

/// Names as they are stored.
pub fn stored(data: &[u8]) {
    let Ok(name) = Name::new(data) else { return };
    let _shown = name.to_string();
    assert_eq!(from_windows_view(&windows_view(data)).as_deref(), Ok(&*plain_form(data)));
    let composed = to_nfc(data);
    assert_eq!(to_nfc(&composed), composed, "composing twice changes nothing");
    assert_eq!(to_nfc(&to_hfs_nfd(&composed)), composed);
    let one = one_form(data);
    assert_eq!(from_mac_view(mac_view(&one).as_bytes()).as_deref(), Ok(&*one));
    assert_eq!(mac_view(&plain_form(data)), mac_view(data));
    let short = short_view(&composed, ID, FILE_LIMIT);
    assert!(!short.is_empty() && short.len() <= FILE_LIMIT);
    match parse_mangled(&short) {
        Some(id) => assert_eq!(id, ID),
        None => assert_eq!(from_short_view(&short).as_deref(), Ok(&*plain_form(&composed))),
    }
    let tagged = tagged_mac_view(&composed, ID, 255);
    assert_eq!(parse_mangled(tagged.as_bytes()), Some(ID));
    assert_eq!(has_other_forms(data), other_forms(data).next().is_some());
    for form in other_forms(data) {
        assert!(folds_alike(data, &form, FOLDINGS[1]), "another form is the same name");
        assert_eq!(one_form(&form), one, "and leads to the same");
    }
    for folding in FOLDINGS {
        let (key, twin) = (FoldedKey::new(data, folding), FoldedKey::new(&composed, folding));
        assert_eq!(key.as_bytes(), twin.as_bytes(), "a name and its composed twin are found alike");
        assert!(folds_alike(data, &composed, folding));
    }
}

/// Names as clients send them; the first byte says in which view.
pub fn sent(data: &[u8]) {
    let Some((&view, bytes)) = data.split_first() else { return };
    let units: Vec<u16> = bytes.chunks_exact(2).map(|pair| u16::from_le_bytes([pair[0], pair[1]])).collect();
    let stored = match view % 6 {
        0 => from_windows_view(&units),
        1 => from_mac_view(bytes),
        2 => from_short_view(bytes),
        3 => cap::decode(bytes, Charset::Utf8),
        4 => cap::decode(bytes, Charset::MacRoman),
        _ => Ok(to_nfc(bytes).into_owned()),
    };
    for map in detect_map([bytes]).into_iter().chain([Map::Sfm, Map::Sfu]) {
        map.decode(bytes);
    }
    report(&[bytes, &bytes[..bytes.len() / 2]]);
    let Ok(stored) = stored else { return };
    if view % 6 < 3 {
        assert!(!stored.is_empty() && !stored.contains(&0) && !stored.contains(&b'/'));
        if long::is_long(&stored) && long::check_long(&stored).is_ok() {
            let short = long::shortened(&stored, view % long::NUMBERS);
            assert!(short.len() <= Name::MAX && long::is_shortened(&short));
            assert_eq!(long::whole_name(&short, &long::encode(&[&stored])), Some(&*stored));
        }
    }
    if stored.len() <= Name::MAX {
        self::stored(&stored);
    }
}

/// The attribute of long names, after a name on the host and a zero byte.
pub fn whole_names(data: &[u8]) {
    let mut parts = data.splitn(2, |byte| *byte == 0);
    let (Some(host_name), Some(value)) = (parts.next(), parts.next()) else { return };
    let problem = long::check(host_name, Some(value));
    match long::whole_name(host_name, value) {
        Some(name) => {
            assert!(long::is_long(name) && name.len() <= long::MAX_BYTES + 2 && !name.contains(&b'/'));
            assert!(long::is_shortened(host_name) && problem.is_none_or(|it| it == long::Problem::Others));
        }
        None => assert!(problem.is_some()),
    }
}
