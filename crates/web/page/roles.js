// The roles of people in a team folder, and what people choose by a purpose.

// By the setting that lists who has the role, the widest one first.
export const ROLES = {
  owners: { name: "owner", does: "changes everything, and says who may do what" },
  editors: { name: "editor", does: "changes all files, also those of others" },
  contributors: { name: "contributor", does: "adds, and changes what is its own" },
  readers: { name: "reader", does: "reads" },
  drop: { name: "drop", does: "puts in, and does not see what is there" },
};

export const SETTINGS = Object.keys(ROLES);

// `people`: the lists to fill, each with a setting, its question, and whom it has at first. "me" is the person at the page.
export const PRESETS = {
  team: {
    title: "Team", text: "All of them change all files, also those of others.",
    people: [["editors", "Who works in it", ["me"]], ["readers", "Who only reads", []]],
  },
  drop: {
    title: "Drop box", text: "Many put files in, and see nothing; a few read and empty it.",
    people: [["drop", "Who puts in", []], ["editors", "Who reads and empties it", ["me"]]],
  },
  read: {
    title: "Read for all", text: "Everybody with an account reads it, and a few change it.",
    people: [["readers", "Who reads", ["everyone"]], ["editors", "Who changes it", ["me"]]],
  },
  private: {
    title: "Private", text: "For one person, or a few who are all its owners.",
    people: [["owners", "Whose it is", ["me"]]],
  },
};

// Further ones when a share is made. `settings`: what else is set.
export const PURPOSES = {
  ...PRESETS,
  homes: {
    title: "Home folders", text: "Each person gets a folder of its own, which is made at the first use. Others do not see it.",
    people: [["who", "Who gets one", ["everyone"]]], settings: { "make-homes": "true" }, homes: true,
  },
  backups: {
    title: "Time Machine", text: "Macs back up to it. Each one changes its own backups only; the others may read them, unless the Mac encrypts them.",
    people: [["contributors", "Who backs up", ["me"]]], settings: { "time-machine": "true" }, size: true,
  },
  video: {
    title: "Video", text: "Editors change everything. Cameras and assistants add footage, and change only their own.",
    people: [["editors", "Who cuts", ["me"]], ["contributors", "Who brings footage", []], ["readers", "Who only looks", []]],
  },
  archive: {
    title: "Archive", text: "Many read it, and a few put in order what is in it.",
    people: [["readers", "Who reads", ["everyone"]], ["editors", "Who files", ["me"]]],
  },
};

// The words of an entry of a list.
export function words(entry) {
  if (entry === "everyone") return "everyone with an account";
  if (entry === "guests") return "guests, without an account";
  return entry.startsWith("@") ? `${entry.slice(1)} (group)` : entry;
}

// Who may do what, a line for each role.
export function lines(lists) {
  const all = SETTINGS.filter((key) => lists[key]?.length).map((key) => `${lists[key].map(words).join(", ")}: ${ROLES[key].does}.`);
  return all.length ? [...all, "All others may not enter."] : [];
}

// The lists of a share from its settings, with those that are inherited from the share above.
export function listsOf(settings) {
  const of = (key) => settings.find((setting) => setting.key === key);
  const split = (value) => (value ?? "").split(",").map((word) => word.trim()).filter(Boolean);
  return {
    lists: Object.fromEntries(SETTINGS.map((key) => [key, split(of(key)?.value)])),
    inherited: SETTINGS.filter((key) => of(key)?.source === "inherited"),
    known: of("editors") !== undefined,
  };
}
