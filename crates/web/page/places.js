// The seven places of the console, and the pages in each. The addresses are those that pages always had; words that people look
// for lead to them, too.

import accounts from "./accounts.js";
import adopt from "./adopt.js";
import alerts from "./alerts.js";
import backups from "./backups.js";
import benchmarks from "./benchmarks.js";
import caches from "./caches.js";
import clients from "./clients.js";
import files from "./files.js";
import findfiles from "./findfiles.js";
import health from "./health.js";
import images from "./images.js";
import jobs from "./jobs.js";
import log from "./log.js";
import luns from "./luns.js";
import names from "./names.js";
import overview from "./overview.js";
import replicate from "./replicate.js";
import rights from "./rights.js";
import scrub from "./scrub.js";
import security from "./security.js";
import settings from "./settings.js";
import setup from "./setup.js";
import shares from "./shares.js";
import slowclients from "./slowclients.js";
import slowest from "./slowest.js";
import snapshots from "./snapshots.js";
import streams from "./streams.js";
import webhooks from "./webhooks.js";

export const PAGES = { __proto__: null, overview, setup, shares, files, findfiles, rights, names, adopt, accounts, clients, snapshots, backups, images, replicate, luns, slowest, slowclients, caches, streams, benchmarks, settings, alerts, health, log, scrub, jobs, webhooks, security };

// `short`: the title of a page among its neighbours, where that is shorter than its own.
export const PLACES = [
  { key: "overview", title: "Overview", pages: ["overview"] },
  { key: "shares", title: "Shares & files", pages: ["shares", "files", "findfiles", "rights", "names", "adopt"] },
  { key: "people", title: "People", pages: ["accounts", "clients"] },
  { key: "backups", title: "Backups & snapshots", pages: ["snapshots", "backups", "images", "replicate"] },
  { key: "luns", title: "Disks (LUNs)", pages: ["luns"] },
  { key: "performance", title: "Performance", pages: ["slowest", "slowclients", "caches", "streams", "benchmarks"] },
  { key: "system", title: "System", pages: ["settings", "alerts", "health", "log", "scrub", "jobs", "webhooks", "security"] },
];

// Other words for pages: they are addresses, and the search finds them.
export const WORDS = {
  __proto__: null,
  people: "accounts", users: "accounts", groups: "accounts", passwords: "accounts",
  connected: "clients", sessions: "clients", "open-files": "clients", locks: "clients", disconnect: "clients", messages: "clients",
  "new-server": "setup", "first-run": "setup",
  permissions: "rights", roles: "rights", acl: "rights",
  find: "findfiles", spotlight: "findfiles", search: "findfiles",
  upload: "files", download: "files", "file-manager": "files", restore: "snapshots", versions: "files",
  "move-in": "adopt", migration: "adopt", netatalk: "adopt", samba: "adopt",
  "time-machine": "backups", macs: "backups",
  dmg: "images", "sparse-bundles": "images", "restore-files": "images",
  copies: "replicate", replication: "replicate", mirror: "replicate",
  schedule: "snapshots", disks: "luns", iscsi: "luns",
  performance: "slowest", latency: "slowest", network: "slowclients", wifi: "slowclients", protocols: "slowclients", memory: "caches", video: "streams", playback: "streams", reserve: "streams", measure: "benchmarks", advice: "benchmarks",
  system: "settings", options: "settings", restart: "settings",
  check: "scrub", repair: "scrub", fsck: "scrub", damage: "scrub",
  certificate: "security", tls: "security", acme: "security", "lets-encrypt": "security", tokens: "security", "sign-ins": "security",
  smart: "health", smartctl: "health", raid: "health", "disk-health": "health",
  "two-factor": "security", totp: "security", "second-factor": "security", authenticator: "security",
  mute: "alerts", warnings: "alerts", errors: "log", events: "log", hooks: "webhooks",
};

export const placeOf = (page) => PLACES.find((place) => place.pages.includes(page));

// The page of an address.
export function pageOf(hash) {
  const name = hash.replace(/^#\/?/, "").split(/[/?]/)[0];
  return PAGES[name] ? name : WORDS[name] ?? "overview";
}
