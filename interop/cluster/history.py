"""What clients asked the servers of a cluster and were told, in order. `cargo xtask interop cluster` checks whether one server could
have given the same answers (crates/cluster/src/simulation/history.rs)."""

import json
import threading

TAKE, USE, GIVE = "take", "use", "give"


class History:
    """Events in the order of their times. A call is noted before it is sent, and an answer after it has come."""

    def __init__(self):
        self.events, self.one, self.count = [], threading.Lock(), 0
        self.confirmed = {}  # (client, file, right): the event that last showed that the client has it

    def call(self, kind, client, file, right):
        with self.one:
            self.count += 1
            event = {"call": self.count, "kind": kind, "client": client, "file": file, "right": right}
            self.events.append(event)
            return event

    def answer(self, call, how):
        """`how`: done, refused (another client has it), failed (for another reason)."""
        with self.one:
            event = {"answer": call["call"], "how": how}
            self.events.append(event)
            key = call["client"], call["file"], call["right"]
            if how == "done" and call["kind"] == GIVE:
                self.confirmed.pop(key, None)
            elif how == "done":
                self.confirmed[key] = event

    def lost(self, call):
        """There was no answer. Whatever the client had is gone at some time since it was last confirmed."""
        with self.one:
            key = call["client"], call["file"], call["right"]
            since = self.confirmed.pop(key, None)
            if call["kind"] == TAKE:  # perhaps it comes, and goes again
                self._after(call, {"lost": call["call"]})
                return
            self.events.remove(call)
            self.count += 1
            self._after(since, {"call": self.count, "kind": "leave", "client": key[0], "file": key[1], "right": key[2]})

    def _after(self, event, new):
        at = next(at for at, other in enumerate(self.events) if other is event)
        self.events.insert(at + 1, new)

    def write(self, path):
        with self.one, open(path, "w") as file:
            json.dump(self.events, file)
        return len(self.events)
