//! Accounts: made, changed, removed.
//!
//! Accounts say who people are: only a person who gives the own password changes them. A token may disable one that is no
//! administrator.

use auth::PasswordRule;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use axum::{Extension, Json};
use serde::{Deserialize, Deserializer, Serialize};
use utoipa::ToSchema;

use crate::Api;
use crate::admitted::Actor;
use crate::api::{Body, Done, Failure, blocking, body, done};
use crate::author::{Author, Peer};

/// The longest password in bytes, as for `fourfold user`.
const LONGEST_PASSWORD: usize = 1024;
/// The longest name of an account or a group in bytes.
pub(crate) const LONGEST_NAME: usize = 256;
/// Groups in a request.
const MOST_GROUPS: usize = auth::MOST_GROUPS;

/// A change of an account.
#[derive(Clone, PartialEq, Eq)]
pub struct AccountChange {
    /// The account.
    pub name: String,
    /// What is changed.
    pub what: AccountEdit,
    /// The account or the token that changes it.
    pub by: String,
}

/// What is changed.
#[derive(Clone, PartialEq, Eq)]
pub enum AccountEdit {
    /// It is made.
    Add {
        /// Its password.
        password: String,
        /// Which secrets are kept in addition.
        more: MoreSecrets,
        /// Its rights, and its Unix user.
        rights: AccountRights,
    },
    /// It gets another password.
    Password {
        /// The new one.
        password: String,
        /// Which secrets are kept in addition. `None`: those that were kept before.
        more: Option<MoreSecrets>,
    },
    /// It may do something else, or acts as somebody else.
    Rights(AccountRights),
    /// It gets another name, and with it another password: what is kept of the old one depends on the name.
    Rename {
        /// The new name.
        new: String,
        /// The new password.
        password: String,
    },
    /// It is removed.
    Remove,
}

/// Secrets that are kept in addition to the usual ones.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct MoreSecrets {
    /// The password's first eight characters as they are, for Macs before Mac OS 8.6.
    pub legacy: bool,
    /// The password as it is, for iSCSI.
    pub chap: bool,
}

/// The rights of an account, and its Unix user. A field that is `None` stays as it is.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AccountRights {
    /// The Unix user; inner `None`: the one of the same name.
    pub uid: Option<Option<u32>>,
    /// The first group; inner `None`: that of the Unix user.
    pub gid: Option<Option<u32>>,
    /// Groups in addition to those of the Unix user: names of groups of the server or of the host, or numbers.
    pub groups: Option<Vec<String>>,
    /// It may not log in.
    pub disabled: Option<bool>,
    /// It may administer the server.
    pub admin: Option<bool>,
}

impl AccountEdit {
    /// Whether it takes the login away, and nothing else.
    fn only_disables(&self) -> bool {
        *self == Self::Rights(AccountRights { disabled: Some(true), ..AccountRights::default() })
    }

    /// Whether it would lock out who does it to the own account.
    fn locks_out(&self) -> bool {
        match self {
            Self::Remove | Self::Rename { .. } => true,
            Self::Rights(rights) => rights.admin == Some(false) || rights.disabled == Some(true),
            Self::Add { .. } | Self::Password { .. } => false,
        }
    }
}

/// A field that was given, also if it is null.
fn given<'de, T: Deserialize<'de>, D: Deserializer<'de>>(from: D) -> Result<Option<Option<T>>, D::Error> {
    Option::<T>::deserialize(from).map(Some)
}

/// The rights of an account, and its Unix user. Fields that are absent stay as they are.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ChangedAccount {
    /// The account.
    name: String,
    /// The Unix user with which it acts; null: the one of the same name.
    #[serde(default, deserialize_with = "given")]
    #[schema(value_type = Option<u32>)]
    uid: Option<Option<u32>>,
    /// The first group; null: that of the Unix user.
    #[serde(default, deserialize_with = "given")]
    #[schema(value_type = Option<u32>)]
    gid: Option<Option<u32>>,
    /// Its groups in addition to those of the Unix user: names of groups of the server or of the host, or numbers. At most 64.
    groups: Option<Vec<String>>,
    /// It may not log in.
    disabled: Option<bool>,
    /// It may administer the server.
    admin: Option<bool>,
    /// The password of the administrator whose session this is. It is not needed to disable an account that is no administrator.
    own_password: Option<String>,
}

/// An account to make.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct NewAccount {
    /// Its name.
    name: String,
    /// Its password.
    password: String,
    /// Keep the password's first eight characters as they are, for Macs before Mac OS 8.6 and Apple IIs.
    #[serde(default)]
    legacy_password: bool,
    /// Keep the password as it is, as the secret of iSCSI logins (CHAP).
    #[serde(default)]
    chap_secret: bool,
    /// The Unix user with which it acts; without one, the user of the same name.
    uid: Option<u32>,
    /// The first group; without one, that of the Unix user.
    gid: Option<u32>,
    /// Its groups in addition to those of the Unix user: names of groups of the server or of the host, or numbers. At most 64.
    #[serde(default)]
    groups: Vec<String>,
    /// It may administer the server.
    #[serde(default)]
    admin: bool,
    /// The password of the administrator whose session this is.
    own_password: Option<String>,
}

/// Another password.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct NewPassword {
    /// The account.
    name: String,
    /// The new password.
    password: String,
    /// Keep the password's first eight characters as they are. Without this field, it is as it was.
    legacy_password: Option<bool>,
    /// Keep the password as it is, as the secret of iSCSI logins (CHAP). Without this field, it is as it was.
    chap_secret: Option<bool>,
    /// The password of the administrator whose session this is.
    own_password: Option<String>,
}

/// What a password must have that is set over the network.
#[derive(Serialize, ToSchema)]
pub(crate) struct PasswordRuleStatus {
    /// So many characters, without the name of the account, in any case of letters.
    characters: usize,
    /// So many different ones of them.
    different: usize,
    /// The rule in words.
    text: String,
}

/// An account to remove.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct OneAccount {
    /// The account.
    name: String,
    /// The password of the administrator whose session this is.
    own_password: Option<String>,
}

/// What a new password must have.
#[utoipa::path(get, path = "/v1/password-rule", security(("token" = ["read"])), responses((status = 200, description = "The rule", body = PasswordRuleStatus), (status = "4XX", description = "Refused", body = Failure)))]
pub(crate) async fn password_rule() -> Json<PasswordRuleStatus> {
    Json(PasswordRuleStatus {
        characters: PasswordRule::CHARACTERS,
        different: PasswordRule::DIFFERENT,
        text: PasswordRule.to_string(),
    })
}

/// Makes an account.
#[utoipa::path(post, path = "/v1/accounts", request_body = NewAccount, security(("token" = ["write"])), responses((status = 200, description = "It is made", body = Done), (status = "4XX", description = "Refused", body = Failure)))]
pub(crate) async fn add(
    State(api): State<Api>,
    (Extension(actor), peer): (Extension<Actor>, Peer),
    new: Body<NewAccount>,
) -> Result<Response, Failure> {
    let new = body(new)?;
    check_password(&new.password)?;
    let more = MoreSecrets { legacy: new.legacy_password, chap: new.chap_secret };
    let rights = AccountRights {
        uid: Some(new.uid),
        gid: Some(new.gid),
        groups: Some(new.groups),
        disabled: None,
        admin: Some(new.admin),
    };
    let what = AccountEdit::Add { password: new.password, more, rights };
    change_account(api, (actor, peer), (new.name, what), new.own_password).await
}

/// Gives an account another password. Its other sessions end; the one that changes its own password goes on.
#[utoipa::path(post, path = "/v1/accounts/password", request_body = NewPassword, security(("token" = ["write"])), responses((status = 200, description = "It has the password", body = Done), (status = "4XX", description = "Refused", body = Failure)))]
pub(crate) async fn password(
    State(api): State<Api>,
    (Extension(actor), peer): (Extension<Actor>, Peer),
    new: Body<NewPassword>,
) -> Result<Response, Failure> {
    let NewPassword { name, password, legacy_password, chap_secret, own_password } = body(new)?;
    check_password(&password)?;
    let more = match (legacy_password, chap_secret) {
        (None, None) => None,
        (legacy, chap) => Some(MoreSecrets { legacy: legacy == Some(true), chap: chap == Some(true) }),
    };
    let what = AccountEdit::Password { password, more };
    change_account(api, (actor, peer), (name, what), own_password).await
}

/// Changes the rights of an account, its Unix user, and its groups.
#[utoipa::path(post, path = "/v1/accounts/change", request_body = ChangedAccount, security(("token" = ["write"])), responses((status = 200, description = "It is changed", body = Done), (status = "4XX", description = "Refused", body = Failure)))]
pub(crate) async fn change(
    State(api): State<Api>,
    (Extension(actor), peer): (Extension<Actor>, Peer),
    changed: Body<ChangedAccount>,
) -> Result<Response, Failure> {
    let ChangedAccount { name, uid, gid, groups, disabled, admin, own_password } = body(changed)?;
    let rights = AccountRights { uid, gid, groups, disabled, admin };
    if rights == AccountRights::default() {
        let hint = "name at least one of `uid`, `gid`, `groups`, `disabled` and `admin`";
        return Err(Failure::new(StatusCode::BAD_REQUEST, hint));
    }
    change_account(api, (actor, peer), (name, AccountEdit::Rights(rights)), own_password).await
}

/// Removes an account. Its files stay.
#[utoipa::path(post, path = "/v1/accounts/remove", request_body = OneAccount, security(("token" = ["write"])), responses((status = 200, description = "It is removed", body = Done), (status = "4XX", description = "Refused", body = Failure)))]
pub(crate) async fn remove(
    State(api): State<Api>,
    (Extension(actor), peer): (Extension<Actor>, Peer),
    one: Body<OneAccount>,
) -> Result<Response, Failure> {
    let OneAccount { name, own_password } = body(one)?;
    change_account(api, (actor, peer), (name, AccountEdit::Remove), own_password).await
}

/// Another name for an account.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct RenamedAccount {
    /// The account.
    name: String,
    /// Its new name.
    new: String,
    /// A new password, or the old one: what the server keeps of a password depends on the name.
    password: String,
    /// The password of the administrator whose session this is.
    own_password: Option<String>,
}

/// Gives an account another name. It acts as the same Unix user as before, and keeps its groups and its roles in shares.
#[utoipa::path(post, path = "/v1/accounts/rename", request_body = RenamedAccount, security(("token" = ["write"])), responses((status = 200, description = "It has the new name", body = Done), (status = "4XX", description = "Refused", body = Failure)))]
pub(crate) async fn rename(
    State(api): State<Api>,
    (Extension(actor), peer): (Extension<Actor>, Peer),
    renamed: Body<RenamedAccount>,
) -> Result<Response, Failure> {
    let RenamedAccount { name, new, password, own_password } = body(renamed)?;
    check_password(&password)?;
    change_account(api, (actor, peer), (name, AccountEdit::Rename { new, password }), own_password).await
}

fn check_password(password: &str) -> Result<(), Failure> {
    let is_wrong = |letter: char| matches!(letter, '\0' | '\n' | '\r');
    if password.len() > LONGEST_PASSWORD || password.contains(is_wrong) {
        let hint = format!("a password has 1 to {LONGEST_PASSWORD} bytes, in one line");
        return Err(Failure::new(StatusCode::BAD_REQUEST, hint));
    }
    Ok(())
}

/// Refuses texts and lists that are too long, before the account is looked for.
fn check_texts(name: &str, what: &AccountEdit) -> Result<(), Failure> {
    let groups: &[String] = match what {
        AccountEdit::Add { rights, .. } | AccountEdit::Rights(rights) => {
            rights.groups.as_deref().unwrap_or_default()
        }
        AccountEdit::Password { .. } | AccountEdit::Rename { .. } | AccountEdit::Remove => &[],
    };
    let new = if let AccountEdit::Rename { new, .. } = what { new } else { "" };
    if groups.len() > MOST_GROUPS
        || groups.iter().map(String::as_str).chain([name, new]).any(|text| text.len() > LONGEST_NAME)
    {
        let hint = format!("a name has at most {LONGEST_NAME} bytes, and a list of groups {MOST_GROUPS}");
        return Err(Failure::new(StatusCode::BAD_REQUEST, hint));
    }
    Ok(())
}

async fn change_account(
    api: Api,
    (actor, peer): (Actor, Peer),
    (name, what): (String, AccountEdit),
    own_password: Option<String>,
) -> Result<Response, Failure> {
    check_texts(&name, &what)?;
    let (manage, of) = (api.manage.clone(), name.clone());
    let is_administrator = blocking(move || manage.may_administer(&of)).await?;
    let author = Author::of(&api, (&actor, peer), own_password).await?;
    if is_administrator || !what.only_disables() {
        author.check_verified("an account that is made, changed or removed")?;
    }
    let is_own = actor.session.is_some() && actor.name == name;
    if is_own && what.locks_out() {
        let hint =
            "this would lock you out; another administrator can do it, or `fourfold user` on the server";
        return Err(Failure::new(StatusCode::CONFLICT, hint));
    }
    // Sessions of the account end by a new password. That of the person goes on.
    let is_own_password = is_own && matches!(what, AccountEdit::Password { .. });
    let change = AccountChange { name, what, by: actor.name.clone() };
    // Hashes of passwords take memory: they are made one at a time, as they are checked.
    let one = api.verifying.clone().acquire_owned().await;
    let manage = api.manage.clone();
    let logins = api.logins.clone();
    let made = blocking(move || {
        let _one = one;
        match actor.session.filter(|_| is_own_password) {
            None => manage.change_account(&change),
            Some(secret) => {
                let find = || manage.administrator(&change.name);
                logins.over_a_change(&secret, || manage.change_account(&change), find)
            }
        }
    });
    done(made.await?)
}

// Without the password, so that it can be logged.
impl std::fmt::Debug for AccountChange {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let what = match &self.what {
            AccountEdit::Add { .. } => "add",
            AccountEdit::Rename { .. } => "rename",
            AccountEdit::Password { .. } => "password",
            AccountEdit::Rights(_) => "rights",
            AccountEdit::Remove => "remove",
        };
        write!(f, "AccountChange({}: {what}, by {})", self.name, self.by)
    }
}
