//! Second factors in a state folder: codes that count once, recovery, guesses.

use std::os::unix::fs::PermissionsExt;

use super::*;

/// The time of the first row of RFC 6238 appendix B.
const UNIX: u64 = 59;

struct Scene {
    state: tempfile::TempDir,
    factors: SecondFactors,
    begun: Instant,
}

impl Scene {
    fn new() -> Self {
        let state = tempfile::tempdir().unwrap();
        let factors = SecondFactors::new(state.path().into());
        Self { state, factors, begun: Instant::now() }
    }

    /// So many seconds after the beginning.
    fn at(&self, seconds: u64) -> FactorTime {
        FactorTime { unix_s: UNIX + seconds, instant: self.begun + Duration::from_secs(seconds) }
    }

    /// Sets the second factor of ada. Her secret, and her recovery codes.
    fn set(&self) -> (Vec<u8>, Vec<String>) {
        let shown = self.factors.begin("ada", "nas", self.begun).unwrap();
        let secret = totp::of_base32(&shown.text).unwrap();
        let codes = self.factors.confirm("ada", &code(&secret, self.at(0)), self.at(0)).unwrap();
        (secret, codes)
    }

    fn check(&self, typed: &str, seconds: u64) -> FactorVerdict {
        self.factors.check("Ada", Some(typed), self.at(seconds)).unwrap()
    }
}

fn code(secret: &[u8], at: FactorTime) -> String {
    totp::code(secret, totp::step_at(at.unix_s))
}

#[test]
fn a_secret_counts_when_its_first_code_was_typed() {
    let scene = Scene::new();
    assert_eq!(scene.check("123456", 0), FactorVerdict::NotSet);
    assert!(matches!(scene.factors.confirm("ada", "123456", scene.at(0)), Err(FactorError::NotBegun)));
    let shown = scene.factors.begin("ada", "nas", scene.begun).unwrap();
    assert_eq!(
        shown.uri,
        format!(
            "otpauth://totp/Fourfold%20nas:ada?secret={}&issuer=Fourfold%20nas&algorithm=SHA1&digits=6&period=30",
            shown.text
        )
    );
    assert!(matches!(scene.factors.confirm("ada", "12345", scene.at(0)), Err(FactorError::WrongCode)));
    assert_eq!(scene.check("123456", 0), FactorVerdict::NotSet, "nothing counts yet");
    let secret = totp::of_base32(&shown.text).unwrap();
    let late = scene.at(PATIENCE.as_secs());
    assert!(matches!(scene.factors.confirm("ada", &code(&secret, late), late), Err(FactorError::NotBegun)));
    let (_, codes) = scene.set();
    assert_eq!((codes.len(), codes[0].len()), (10, 19));
    let status = scene.factors.status("ADA").unwrap();
    assert_eq!(status, Some(FactorStatus { since: UNIX, recovery_codes: 10 }));
    assert!(matches!(scene.factors.begin("ada", "nas", scene.begun), Err(FactorError::Exists(_))));
    let file = scene.state.path().join(FILE);
    assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    assert!(!std::fs::read_to_string(&file).unwrap().contains(&codes[0]));
}

#[test]
fn each_code_counts_once() {
    let scene = Scene::new();
    let (secret, codes) = scene.set();
    assert_eq!(scene.factors.check("ada", None, scene.at(0)).unwrap(), FactorVerdict::Missing);
    assert_eq!(scene.check(" - ", 0), FactorVerdict::Missing);
    assert_eq!(scene.check(&code(&secret, scene.at(0)), 0), FactorVerdict::Wrong, "it has set the factor");
    let next = code(&secret, scene.at(60));
    let typed = format!("{} {}", &next[..3], &next[3..]);
    assert_eq!(scene.check(&typed, 60), FactorVerdict::Right);
    assert_eq!(scene.check(&next, 60), FactorVerdict::Wrong);
    assert_eq!(scene.check(&codes[3].to_uppercase(), 60), FactorVerdict::Right);
    assert_eq!(scene.check(&codes[3], 60), FactorVerdict::Wrong);
    assert_eq!(scene.factors.status("ada").unwrap().unwrap().recovery_codes, 9);
    assert_eq!(scene.factors.check("grace", Some(&next), scene.at(60)).unwrap(), FactorVerdict::NotSet);
}

#[test]
fn guesses_wait_longer_each_time_and_a_recovery_code_does_not() {
    let scene = Scene::new();
    let (secret, codes) = scene.set();
    let wrong = |seconds| {
        let right = code(&secret, scene.at(seconds));
        let other = if right == "000000" { "000001" } else { "000000" };
        scene.check(other, seconds)
    };
    for _ in 0..FREE {
        assert_eq!(wrong(300), FactorVerdict::Wrong);
    }
    assert_eq!(scene.check(&code(&secret, scene.at(301)), 301), FactorVerdict::Wait(Duration::from_secs(29)));
    assert_eq!(wrong(330), FactorVerdict::Wrong);
    assert_eq!(wrong(331), FactorVerdict::Wait(Duration::from_secs(59)));
    let mut seconds = 390;
    for _ in 0..20 {
        assert_eq!(wrong(seconds), FactorVerdict::Wrong);
        seconds += LONGEST.as_secs();
    }
    assert_eq!(wrong(seconds), FactorVerdict::Wrong);
    assert_eq!(wrong(seconds + 1), FactorVerdict::Wait(LONGEST - Duration::from_secs(1)));
    assert_eq!(scene.check(&codes[0], seconds + 1), FactorVerdict::Right);
    let later = seconds + 60;
    assert_eq!(
        scene.check(&code(&secret, scene.at(later)), later),
        FactorVerdict::Right,
        "the pause is over"
    );
}

#[test]
fn a_factor_goes_with_its_account() {
    let scene = Scene::new();
    assert!(!remove(scene.state.path(), "ada").unwrap());
    copy(scene.state.path(), "ada", "grace").unwrap();
    assert!(!scene.state.path().join("second-factors.lock").exists(), "there was nothing to do");
    let (secret, _) = scene.set();
    copy(scene.state.path(), "ADA", "Ada").unwrap();
    copy(scene.state.path(), "ADA", "grace").unwrap();
    assert_eq!(accounts(scene.state.path()).unwrap(), ["ada", "grace"]);
    assert!(remove(scene.state.path(), "ada").unwrap());
    let at = scene.at(90);
    assert_eq!(scene.factors.check("grace", Some(&code(&secret, at)), at).unwrap(), FactorVerdict::Right);
    assert!(remove(scene.state.path(), "Grace").unwrap());
    assert_eq!(scene.factors.status("grace").unwrap(), None);
}

#[test]
fn a_file_that_is_not_understood_lets_no_code_count() {
    let scene = Scene::new();
    std::fs::write(scene.state.path().join(FILE), "format = 7\n").unwrap();
    assert!(scene.factors.check("ada", Some("123456"), scene.at(0)).is_err());
    assert!(scene.factors.begin("ada", "nas", scene.begun).is_err());
    assert!(remove(scene.state.path(), "ada").is_err());
}

#[test]
fn a_first_code_is_not_guessed() {
    let scene = Scene::new();
    let secret = totp::of_base32(&scene.factors.begin("ada", "nas", scene.begun).unwrap().text).unwrap();
    for _ in 0..=FREE {
        assert!(matches!(scene.factors.confirm("ada", "12345", scene.at(0)), Err(FactorError::WrongCode)));
    }
    let right = code(&secret, scene.at(0));
    assert!(matches!(scene.factors.confirm("ada", &right, scene.at(0)), Err(FactorError::NotBegun)));
    scene.set();
}
