// Requests to the server. Listeners of `state` learn whether it answers and whether the session goes on.

export const state = new EventTarget();

export class Refused extends Error {
  constructor(status, lines, needs) {
    super(lines.join("\n"));
    this.status = status;
    this.needs = needs;
    this.lines = lines;
  }
}

// A server that does not answer a question within this has stopped, or hangs. Changes may take longer.
const PATIENCE_MS = 20000;

let answers = true;

export function reachable(now) {
  if (now !== answers) {
    answers = now;
    state.dispatchEvent(new Event(now ? "reachable" : "unreachable"));
  }
}

async function ask(method, path, body, signal) {
  const headers = method === "GET" ? {} : { "X-Fourfold-Console": "1", "Content-Type": "application/json" };
  const limits = method === "GET" ? [AbortSignal.timeout(PATIENCE_MS)] : [];
  if (signal) limits.push(signal);
  let response;
  try {
    response = await fetch(path, { method, headers, signal: AbortSignal.any(limits), body: body === undefined ? undefined : JSON.stringify(body) });
  } catch (error) {
    if (error.name !== "AbortError") reachable(false);
    throw error.name === "AbortError" ? error : new Refused(0, ["The server does not answer."]);
  }
  reachable(true);
  const cutOff = (error) => {
    if (error.name === "AbortError") throw error; // the page has gone
    if (response.ok) throw new Refused(0, ["The answer was cut off."]);
    return {};
  };
  const answer = response.status === 204 ? {} : await response.json().catch(cutOff);
  if (response.ok) return answer;
  if (response.status === 401 && !path.startsWith("/v1/login")) state.dispatchEvent(new Event("ended"));
  if (answer.needs === "second_factor") state.dispatchEvent(new Event("factor"));
  throw new Refused(response.status, answer.errors ?? [response.statusText], answer.needs);
}

export const get = (path, signal) => ask("GET", path, undefined, signal);

// What changes identity or trust needs the own password. `ask` shows why, and returns it, or null if the person does not want to.
let own = null;
export function askOwnPasswordBy(ask) {
  own = ask;
}

// `kept` remembers the password for the next steps of one form.
export async function post(path, body, kept = null) {
  let password = kept?.password ?? null;
  for (;;) {
    const sent = password === null ? body ?? {} : { ...body, own_password: password };
    try {
      const answer = await ask("POST", path, sent);
      kept?.keep(password);
      return answer;
    } catch (refused) {
      if (refused.needs !== "own_password" || !own) throw refused;
      kept?.keep(null);
      password = await own(refused.message);
      if (password === null) throw refused;
    }
  }
}

// A form of several steps remembers the own password for so long.
const KEPT_MS = 120000;

// The own password, for the steps of one form. It is forgotten soon, and when the page is left.
export function keptPassword(signal) {
  let wait;
  const kept = {
    password: null,
    keep: (password) => {
      clearTimeout(wait);
      kept.password = signal.aborted ? null : password;
      if (password !== null) wait = setTimeout(() => { kept.password = null; }, KEPT_MS);
    },
  };
  signal.addEventListener("abort", () => kept.keep(null));
  return kept;
}

// Calls `tell(name, data)` for each event until the signal aborts.
export function listen(tell, signal) {
  const source = new EventSource("/v1/events");
  for (const name of ["holdings", "settings", "snapshots", "alert", "jobs", "missed"]) {
    source.addEventListener(name, (event) => tell(name, JSON.parse(event.data)));
  }
  // The browser connects again by itself; after a refusal it does not, and a request finds out why.
  source.addEventListener("error", () => {
    if (source.readyState === EventSource.CLOSED && !signal.aborted) {
      setTimeout(() => { if (!signal.aborted) get("/v1/overview").then(() => listen(tell, signal), () => {}); }, 5000);
    }
  });
  signal.addEventListener("abort", () => source.close());
}
