# SPDX-License-Identifier: BSD-2-Clause
"""The status of a stack, an entry or an attempt, as read from the database."""
import os
from ctypes import c_char_p, c_double, c_uint32, c_uint64

from . import header
from .header import (JOBSTACK_CANCELLED, JOBSTACK_DONE, JOBSTACK_DROPPING, JOBSTACK_FAILED, JOBSTACK_INTERRUPTED, JOBSTACK_LOST,
                     JOBSTACK_OPEN, JOBSTACK_PAUSED, jobstack_bytes, jobstack_item, jobstack_status)
from .library import to_data, to_seconds, to_text

STATES = {name[len("JOBSTACK_IS_"):].lower(): bit for name, bit in vars(header).items() if name.startswith("JOBSTACK_IS_")}
_STATE_WORDS = {bit: word for word, bit in STATES.items()}
_OUTCOMES = {JOBSTACK_DONE: "done", JOBSTACK_FAILED: "failed", JOBSTACK_LOST: "lost", JOBSTACK_INTERRUPTED: "interrupted"}
_STACK_WORDS = {JOBSTACK_OPEN: "open", JOBSTACK_PAUSED: "paused", JOBSTACK_CANCELLED: "cancelled", JOBSTACK_DROPPING: "dropping"}


class Status:
    """A stack at one moment. The counts are those of `jobstack status`: pushed, ready, waiting, held, running,
    done, dead, cancelled, workers, slots, pushers...; times in seconds."""

    def __init__(self, s):
        self.stack = to_text(s.stack)
        self.state = _STACK_WORDS.get(s.state, str(s.state))
        for name, kind in jobstack_status._fields_:
            if kind in (c_uint64, c_uint32, c_double):
                setattr(self, name, getattr(s, name))
        self.max_running = s.max_running or None
        self.max_failures = s.max_failures or None
        self.max_starts = (s.max_starts, to_seconds(s.starts_us)) if s.max_starts else None
        self.next_due = to_seconds(s.next_due_us)
        self.retry_delay = to_seconds(s.retry_delay_us)
        self.cwd = None if s.cwd is None else os.fsdecode(s.cwd)
        self.note = to_text(s.note)
        if self.state == "open" and self.finished:
            self.state = "finished"

    @property
    def left(self):
        """How many entries may still run: ready, waiting, held and running."""
        return self.ready + self.waiting + self.held + self.running

    @property
    def finished(self):
        """Nothing is left, and no push is running."""
        return self.left == 0 and self.pushers == 0

    def __repr__(self):
        return "<%s: %s, %d pushed, %d done, %d dead, %d left>" % (
            self.stack, self.state, self.pushed, self.done, self.dead, self.left)


class Item:
    """One entry, or one attempt of it, as `jobstack list` and `show` print it. Times are seconds since 1970, or None.
    `datapath` is bytes, `path` a str for open()."""

    def __init__(self, i):
        for name, kind in jobstack_item._fields_:
            value = getattr(i, name)
            if kind is jobstack_bytes:
                setattr(self, name, to_data(value))
            elif kind is c_char_p:
                setattr(self, name, to_text(value))
            elif name.endswith("_us"):
                setattr(self, name[:-3], to_seconds(value))
            else:
                setattr(self, name, value)
        self.path = os.fsdecode(self.datapath)
        self.argv = [os.fsdecode(word) for word in self.argv.split(b"\0")[:-1]]
        self.state = _STATE_WORDS.get(i.state, str(i.state))
        self.outcome = _OUTCOMES.get(i.outcome)
        self.exit_code = None if i.exit_code < 0 else i.exit_code
        self.signal = i.signal if i.signal > 0 else None

    @property
    def seconds(self):
        return None if self.started is None or self.ended is None else self.ended - self.started

    def __repr__(self):
        return "<entry %d %s: %s>" % (self.entry, self.state, self.path)
