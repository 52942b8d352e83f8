// The values of settings in the units that people write.

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
