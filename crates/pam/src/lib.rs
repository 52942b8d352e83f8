//! Passwords of the host's users, verified by PAM of the host, which is opened at run time. Neither building nor running the
//! server needs PAM otherwise.
//!
//! A module of PAM may wait for a server of its own for as long as it likes. So each login has a thread, whose caller waits a
//! limited time. A thread that still waits then keeps its permit until its end.

mod library;

use std::ffi::CString;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::time::Duration;

use zeroize::Zeroizing;

use library::PamLibrary;

/// The most logins at a time.
const MOST_AT_ONCE: usize = 16;
/// How long a login waits for its verdict.
const LONGEST: Duration = Duration::from_secs(20);
/// The longest password, with its end: PAM_MAX_RESP_SIZE.
const LONGEST_PASSWORD: usize = 512;
/// The folders of services.
const FOLDERS: [&str; 2] = ["/etc/pam.d", "/usr/lib/pam.d"];

/// What PAM does for this server: a file with its rules.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Service {
    /// The name of the file.
    pub name: String,
    /// The folder with the file; `None`: the host's.
    pub folder: Option<PathBuf>,
}

impl Service {
    /// The service of a setting: a name, or the absolute path of a file. `None` if it is neither.
    #[must_use]
    pub fn of(setting: &str) -> Option<Self> {
        let is_name = |name: &str| {
            let fits = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
            !name.is_empty() && name.chars().all(fits) && !name.starts_with('.')
        };
        if is_name(setting) {
            return Some(Self { name: setting.into(), folder: None });
        }
        let path = Path::new(setting);
        let name = path.file_name()?.to_str().filter(|name| is_name(name))?.to_owned();
        path.is_absolute().then(|| Self { name, folder: path.parent().map(Path::to_owned) })
    }

    /// The files that have its rules: the first one that is there counts.
    #[must_use]
    pub fn files(&self) -> Vec<PathBuf> {
        match &self.folder {
            Some(folder) => vec![folder.join(&self.name)],
            None => FOLDERS.iter().map(|folder| Path::new(folder).join(&self.name)).collect(),
        }
    }
}

/// Why a login is refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PamRefusal {
    /// The password is wrong, or there is no such user.
    #[error("PAM does not take the password: {0}")]
    Password(String),
    /// The password is right, but the user may not log in now.
    #[error("PAM does not let the user in: {0}")]
    Account(String),
    /// PAM cannot tell.
    #[error("PAM cannot verify the password: {0}")]
    Unavailable(String),
    /// There was no answer in time.
    #[error("PAM has not answered within {} s", LONGEST.as_secs())]
    Late,
    /// Too many logins go on.
    #[error("PAM is busy with {MOST_AT_ONCE} other logins")]
    Busy,
}

/// Verifies passwords.
pub struct Pam {
    library: PamLibrary,
    service: Service,
    permits: Arc<Permits>,
    longest: Duration,
}

impl Pam {
    /// PAM with the rules of a service.
    ///
    /// # Errors
    /// The library cannot be opened, or it is too old for a folder of one's own; the text says what to do.
    pub fn open(service: Service) -> Result<Self, String> {
        let library = PamLibrary::open()?;
        if service.folder.is_some() && !library.takes_folders() {
            return Err(
                "this PAM is older than 1.4 and takes services of /etc/pam.d only: name one of those".into(),
            );
        }
        Ok(Self { library, service, permits: Arc::default(), longest: LONGEST })
    }

    /// Does the work of a login, which may hang, on a thread of its own. Waits for it, for 20 s at most. The thread has the
    /// rights of the caller's.
    ///
    /// # Errors
    /// There is no result: [`PamRefusal::Late`], [`PamRefusal::Busy`] or [`PamRefusal::Unavailable`].
    pub fn within_time<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, PamRefusal> {
        let permit = Permits::take(&self.permits).ok_or(PamRefusal::Busy)?;
        let (done, result) = sync_channel(1);
        let work = move || {
            let _permit = permit;
            let _ = done.send(work()); // the login may have given up
        };
        let thread = std::thread::Builder::new().name("pam".into()).spawn(work);
        thread.map_err(|error| PamRefusal::Unavailable(format!("no thread: {error}")))?;
        result.recv_timeout(self.longest).map_err(|error| match error {
            RecvTimeoutError::Timeout => PamRefusal::Late,
            RecvTimeoutError::Disconnected => PamRefusal::Unavailable("its thread has ended".into()),
        })
    }

    /// Verifies a password, and that the user may log in now. Waits for as long as PAM does: see [`Self::within_time`].
    ///
    /// # Errors
    /// The login is refused.
    pub fn verify(&self, user: &str, password: &str) -> Result<(), PamRefusal> {
        let user = CString::new(user).map_err(|_| PamRefusal::Password("a zero in the name".into()))?;
        if password.is_empty() {
            return Err(PamRefusal::Password("it is empty".into()));
        }
        if password.len() >= LONGEST_PASSWORD || password.contains('\0') {
            return Err(PamRefusal::Password("it is too long, or has a zero in it".into()));
        }
        let mut bytes = Zeroizing::new(Vec::with_capacity(password.len() + 1)); // it does not move, and leaves no copies
        bytes.extend_from_slice(password.as_bytes());
        bytes.push(0);
        self.library.verify(&self.service, &user, bytes)
    }
}

/// How many logins go on.
#[derive(Default)]
struct Permits {
    taken: AtomicUsize,
}

/// The right to a thread, until dropped.
struct Permit(Arc<Permits>);

impl Permits {
    /// A permit, at once or not at all: what waited would take a thread, too.
    fn take(permits: &Arc<Self>) -> Option<Permit> {
        let more = |taken| (taken < MOST_AT_ONCE).then_some(taken + 1);
        permits.taken.fetch_update(Ordering::AcqRel, Ordering::Acquire, more).ok()?;
        Some(Permit(permits.clone()))
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        self.0.taken.fetch_sub(1, Ordering::AcqRel);
    }
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::*;

    /// PAM with these rules; `None` where it is not installed.
    fn pam(folder: &Path, rules: &str) -> Option<Pam> {
        std::fs::write(folder.join("test"), rules).unwrap();
        let service = Service::of(folder.join("test").to_str().unwrap()).unwrap();
        Pam::open(service).inspect_err(|why| println!("not tested: {why}")).ok()
    }

    fn script(folder: &Path, text: &str) -> String {
        use std::os::unix::fs::PermissionsExt;
        let path = folder.join("script");
        std::fs::write(&path, format!("#!/bin/sh\n{text}\n")).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
        path.display().to_string()
    }

    #[test]
    fn a_service_is_a_name_or_the_path_of_a_file() {
        assert_eq!(Service::of("fourfold").unwrap().files()[0], Path::new("/etc/pam.d/fourfold"));
        let own = Service::of("/srv/rules/fourfold").unwrap();
        assert_eq!((own.folder.as_deref(), &*own.name), (Some(Path::new("/srv/rules")), "fourfold"));
        for wrong in ["", "..", "a/b", "../a", "/", "a b", "/srv/a\0b"] {
            assert_eq!(Service::of(wrong), None, "{wrong:?}");
        }
    }

    #[test]
    fn the_rules_decide_by_user_and_password() {
        let folder = tempfile::tempdir().unwrap();
        let check = script(folder.path(), "read -r password; [ \"$PAM_USER:$password\" = ada:right ]");
        let rules = format!(
            "auth required pam_exec.so expose_authtok quiet {check}\naccount required pam_permit.so\n"
        );
        let Some(pam) = pam(folder.path(), &rules) else { return };
        assert_eq!(pam.verify("ada", "right"), Ok(()));
        for (user, password) in [("ada", "wrong"), ("bob", "right"), ("ada", "")] {
            assert!(pam.verify(user, password).is_err(), "{user} {password}"); // pam_exec says "System error"
        }
        assert!(matches!(pam.verify("ada", ""), Err(PamRefusal::Password(_))), "PAM is not asked");
        assert!(matches!(pam.verify("ada", &"x".repeat(512)), Err(PamRefusal::Password(_))));
        assert!(matches!(pam.verify("a\0da", "right"), Err(PamRefusal::Password(_))));
    }

    #[test]
    fn a_user_with_the_right_password_needs_an_account_that_is_open() {
        let folder = tempfile::tempdir().unwrap();
        let rules = "auth required pam_permit.so\naccount required pam_deny.so\n";
        let Some(pam) = pam(folder.path(), rules) else { return };
        assert!(matches!(pam.verify("ada", "any"), Err(PamRefusal::Account(_))));
    }

    #[test]
    fn a_missing_module_cannot_tell() {
        let folder = tempfile::tempdir().unwrap();
        let Some(pam) = pam(folder.path(), "auth required no_such_module.so\n") else { return };
        assert!(pam.verify("ada", "any").is_err());
    }

    #[test]
    fn a_question_for_something_else_than_the_password_is_not_answered() {
        let folder = tempfile::tempdir().unwrap();
        let rules = "auth required pam_permit.so\naccount required pam_permit.so\n";
        let Some(pam) = pam(folder.path(), rules) else { return };
        assert_eq!(pam.verify("ada", "any"), Ok(()));
        assert!(pam.verify("", "any").is_err(), "the module asks for the name, with an echo");
    }

    /// Blocks until the condition holds. Fails with `what` if it never does.
    fn until(what: &str, mut is_so: impl FnMut() -> bool) {
        let deadline = Instant::now() + Duration::from_secs(60);
        while !is_so() {
            assert!(Instant::now() < deadline, "{what}");
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    #[test]
    fn a_module_that_does_not_answer_costs_a_login_only_its_time() {
        let folder = tempfile::tempdir().unwrap();
        let wait = script(folder.path(), "exec sleep 3");
        let rules = format!("auth required pam_exec.so quiet {wait}\naccount required pam_permit.so\n");
        let Some(pam) = pam(folder.path(), &rules) else { return };
        let pam = Arc::new(Pam { longest: Duration::from_millis(50), ..pam });
        let log_in = || {
            let hung = pam.clone();
            pam.within_time(move || hung.verify("ada", "any"))
        };
        for _ in 0..MOST_AT_ONCE {
            assert_eq!(log_in(), Err(PamRefusal::Late));
        }
        assert_eq!(log_in(), Err(PamRefusal::Busy), "threads that hang keep their permits");
        until("threads that end give their permits back", || pam.permits.taken.load(Ordering::Acquire) == 0);
        let pam = Pam { longest: LONGEST, ..Arc::into_inner(pam).unwrap() };
        assert_eq!(pam.within_time(|| 7), Ok(7));
        assert!(matches!(pam.within_time(|| panic!("as a test")), Err::<(), _>(PamRefusal::Unavailable(_))));
    }
}
