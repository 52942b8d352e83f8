// The settings by subject, and their values in the units that people write.

// The first group with the key, or with a beginning of it, has the setting.
const SERVER = [
  ["Name and network", "How clients find this server, and where it listens.", ["bonjour", "listen", "portmap-port", "nfs-port", "smb-port", "afp-port", "iscsi-port", "afp-greeting"]],
  ["People and logins", "Where accounts come from, and as whom they act.", ["default-user", "host-", "pam-service", "kerberos-", "domain", "afp-logins", "afp-change-password", "share-roots", "confinement"]],
  ["Alerts and logs", "What is told to whom, and what is written down.", ["alert-", "log-", "audit-log", "slow-operation"]],
  ["This console", "Its address and certificate, which the API and the metrics share.", ["admin-"]],
  ["Speed and memory", "The usual values suit most servers.", ["cache-", "transfer-memory", "open-files", "threads", "poll"]],
  ["Windows and SMB", "Signing, encryption, and what older servers left.", ["smb-", "samba-"]],
  ["Macs and AFP", "For Macs that speak AFP, and AppleTalk.", ["afp-", "appletalk", "links", "zone", "name", "router", "seed"]],
  ["Linux and NFS", "Versions, encryption, and who may mount without a login.", ["nfs", "grace-period"]],
  ["Disks (iSCSI)", "Names of targets.", ["iscsi-"]],
  ["Several servers", "A cluster that serves the same files, and links to other servers.", ["cluster", "ceph-conf", "link-"]],
];
const SHARE = [
  ["Who may do what", "The page of this name shows what it comes to.", ["owners", "editors", "contributors", "readers", "drop", "users", "groups", "guests", "read-only", "afp-password"]],
  ["What it is", "Its folder, and over what clients reach it.", ["name", "path", "comment", "make-homes", "nfs", "smb", "afp", "iscsi", "encryption", "must-be-mounted", "store", "shared", "from", "dfs"]],
  ["Space, snapshots and copies", "How much it may take, and what is kept of its past.", ["quota", "snapshot-", "replicate-"]],
  ["Time Machine", "Backups of Macs.", ["time-machine"]],
  ["Metadata of Macs", "Where forks, Finder info and tags are kept.", ["mac-", "volume-id", "safe-save"]],
  ["Names", "Which names clients may give, and which are hidden.", ["case-sensitive", "name-encoding", "catia-mappings", "hide", "show"]],
  ["Rights of new files", "For shares without roles.", ["create-mask", "directory-mask", "force-", "inherit-owner"]],
  ["Records", "What clients do is written down.", ["audit"]],
];
const REST = ["More", "Few servers need these."];

// The group of a setting: its title and a sentence about it.
export function groupOf(setting) {
  const groups = setting.share === null ? SERVER : SHARE;
  const found = groups.find(([, , keys]) => keys.includes(setting.key)) ?? groups.find(([, , keys]) => keys.some((key) => setting.key.startsWith(key)));
  return found ?? REST;
}

// The groups in their order.
export function inGroups(settings) {
  const all = [...SERVER, ...SHARE, REST];
  const found = new Map();
  for (const setting of settings) {
    const group = groupOf(setting);
    if (!found.has(group)) found.set(group, []);
    found.get(group).push(setting);
  }
  return [...found].sort(([one], [other]) => all.indexOf(one) - all.indexOf(other));
}

const UNITS = [["d", "day", 86400000], ["h", "hour", 3600000], ["min", "minute", 60000], ["s", "second", 1000], ["ms", "millisecond", 1]];
const MILLISECONDS = { ms: 1, s: 1000, min: 60000, m: 60000, h: 3600000, d: 86400000 };

const isTime = (setting) => setting.expects.startsWith("a time such as");

// The largest unit in which a time is a whole number.
function unitOf(text) {
  const found = /^(\d+) ?(ms|s|min|m|h|d)$/.exec(text);
  if (!found || Number(found[1]) === 0) return null;
  const milliseconds = Number(found[1]) * MILLISECONDS[found[2]];
  const [short, long, size] = UNITS.find(([, , one]) => milliseconds % one === 0);
  return { short, long, number: milliseconds / size };
}

// A value as it is typed: 7 d, not 604800 s.
export function typed(setting) {
  const unit = isTime(setting) && setting.value !== null ? unitOf(setting.value) : null;
  return unit ? `${unit.number} ${unit.short}` : setting.value ?? "";
}

// A value in words.
export function inWords(setting, value = setting.value) {
  if (value === null) return setting.otherwise || "not set";
  if (value === "") return "empty";
  if (setting.words.includes("true")) return { true: "on", false: "off" }[value] ?? value;
  const unit = isTime(setting) ? unitOf(value) : null;
  if (unit) return `${unit.number.toLocaleString()} ${unit.long}${unit.number === 1 ? "" : "s"}`;
  return value;
}
