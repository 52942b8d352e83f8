//! The OpenAPI document, generated from the requests of the API and their types.

use utoipa::openapi::security::{HttpAuthScheme, HttpBuilder, SecurityScheme};
use utoipa::{Modify, OpenApi};

use crate::jobs::requests as jobs;
use crate::{
    access, accounts, alerts, api, backups, browsing, certificate, code, console, files, find, groups, login,
    luns, negotiate, rights, second_factor, server, shares, sign_ins, slowest, snapshots, store, streams,
    webhooks,
};

#[derive(OpenApi)]
#[openapi(
    info(
        title = "Fourfold",
        version = "1",
        description = "The administration of a running server. Tokens are made by `fourfold token create`. The console uses sessions, which a login begins.",
        license(name = "MIT OR Apache-2.0"),
    ),
    paths(
        api::metrics, api::status, api::shares, api::sessions, api::opens, api::locks, api::leases,
        luns::luns, luns::create, luns::resize, luns::remove, slowest::slowest, access::access, access::groups, rights::rights, rights::rights_of, rights::set, rights::reset, rights::undo, rights::check_tree, accounts::add, accounts::password, accounts::change, accounts::remove, accounts::rename, accounts::password_rule, groups::add, groups::set_accounts, groups::remove,
        api::reload, api::say, api::disconnect,
        alerts::alerts, alerts::mute, alerts::unmute, alerts::test, sign_ins::logins, sign_ins::end,
        second_factor::second_factor, second_factor::begin, second_factor::confirm, second_factor::remove,
        certificate::certificate, certificate::upload, certificate::make, certificate::order, server::server, server::disks, server::restart, server::close,
        store::download, store::upload, store::make_folder, store::move_entry, store::remove,
        api::caches, api::mounts, streams::streams, streams::formats, streams::reserve, streams::release,
        api::limit_caches,
        login::logged_in, login::login, login::logout, negotiate::negotiate,
        console::overview, console::throughput, console::events, console::accounts, console::log, console::metadata_events,
        console::settings, console::change, console::undo,
        jobs::jobs, jobs::start, jobs::job, jobs::cancel, jobs::conversions, jobs::benchmarks, jobs::report, jobs::compare, jobs::advice,
        webhooks::webhooks, webhooks::add, webhooks::remove, webhooks::test, code::code, shares::share, shares::change, shares::unshare, shares::rename, shares::folders, files::folder, files::file, find::find, backups::backups, backups::change_policy,
        browsing::images, browsing::open, browsing::close, browsing::files,
        snapshots::snapshots, snapshots::look, snapshots::take_snapshot, snapshots::remove_snapshot, snapshots::restore,
        snapshots::rename_snapshot, snapshots::hold_snapshot, snapshots::release_snapshot
    ),
    modifiers(&Tokens)
)]
struct Document;

struct Tokens;

impl Modify for Tokens {
    fn modify(&self, document: &mut utoipa::openapi::OpenApi) {
        let bearer = HttpBuilder::new().scheme(HttpAuthScheme::Bearer).build();
        let components = document.components.get_or_insert_default();
        components.add_security_scheme("token", SecurityScheme::Http(bearer));
    }
}

/// The document of version 1.
pub(crate) fn document() -> utoipa::openapi::OpenApi {
    Document::openapi()
}
