//! Pictures, sound and video.

use super::*;

#[test]
fn pictures_have_a_size_a_camera_and_a_time() {
    for (name, bytes, sides) in [
        ("a.jpg", samples::jpeg(), (4000.0, 3000.0)),
        ("a.tif", samples::tiff(), (4000.0, 3000.0)),
        ("a.heic", samples::heic(), (4032.0, 3024.0)),
    ] {
        let found = found(name, &bytes);
        let size = (number(&found, Attribute::Width), number(&found, Attribute::Height));
        assert_eq!(size, (Some(sides.0), Some(sides.1)), "{name}");
        assert_eq!(texts(&found, Attribute::Device), ["Canon EOS 5D"], "{name}");
        assert_eq!(date(&found, Attribute::Taken), Some(1_709_208_000), "{name}");
    }
}

#[test]
fn simple_pictures_have_a_size() {
    let png =
        b"\x89PNG\r\n\x1a\n\0\0\0\x0dIHDR\0\0\x03\x20\0\0\x02\x58\x08\x02\0\0\0\0\0\0\0\0\0\0\0IEND\0\0\0\0";
    let webp = b"RIFF\0\0\0\0WEBPVP8X\x0a\0\0\0\0\0\0\0\x1f\x03\0\x57\x02\0";
    for (name, bytes) in [("a.png", &png[..]), ("a.gif", b"GIF89a\x20\x03\x58\x02"), ("a.webp", webp)] {
        let found = found(name, bytes);
        let size = (number(&found, Attribute::Width), number(&found, Attribute::Height));
        assert_eq!(size, (Some(800.0), Some(600.0)), "{name}");
    }
}

#[test]
fn video_has_a_duration_a_size_and_tags() {
    let found = found("film.mp4", &samples::mp4());
    assert_eq!(number(&found, Attribute::Duration), Some(12.5));
    assert_eq!(
        (number(&found, Attribute::Width), number(&found, Attribute::Height)),
        (Some(1920.0), Some(1080.0))
    );
    assert_eq!(
        (texts(&found, Attribute::Title), date(&found, Attribute::Taken)),
        (vec!["My Film"], Some(1_709_208_000))
    );
}

#[test]
fn sound_has_a_duration_and_tags() {
    let wav = found("bell.wav", &samples::wav());
    assert_eq!((number(&wav, Attribute::Duration), texts(&wav, Attribute::Title)), (Some(0.5), vec!["Bell"]));
    let mp3 = found("song.mp3", &samples::mp3());
    assert_eq!((number(&mp3, Attribute::Duration), texts(&mp3, Attribute::Title)), (Some(2.0), vec!["Lied"]));
    assert_eq!((texts(&mp3, Attribute::Author), texts(&mp3, Attribute::Album)), (vec!["Adé"], vec!["Album"]));
}
