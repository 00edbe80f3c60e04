# SPDX-License-Identifier: BSD-2-Clause
"""A stack: push entries, pop them, look at them, pause and requeue them."""
import ctypes
import os
import time
from ctypes import POINTER, byref, c_char_p, c_uint64, c_void_p, pointer

from .connection import Connection
from .entry import Entry, identity
from .errors import Error, UsageError
from .header import (JOBSTACK_CANCELLED, JOBSTACK_EUSAGE, JOBSTACK_OPEN, JOBSTACK_PAUSED, jobstack_batch, jobstack_bytes,
                     jobstack_cancel_options, jobstack_filter, jobstack_policy, jobstack_push_options, jobstack_push_result,
                     jobstack_requeue_result)
from .library import ITEM, NEXT, STATUS, lib, to_us
from .looks import STATES, Item, Status


class Stack:
    """A stack by its name (default: $JOBSTACK_STACK, else "default"). Without a CONNECTION it makes its own, with these
    options of connect()."""

    def __init__(self, name=None, connection=None, **options):
        self.name = name or os.environ.get("JOBSTACK_STACK") or "default"
        if not isinstance(self.name, str) or "\0" in self.name:
            raise UsageError("a stack's name must be a str without NUL, not %r" % (name,), JOBSTACK_EUSAGE)
        self.connection = connection or Connection(**options)
        self._name = self.name.encode()

    def __repr__(self):
        return "<stack %s>" % self.name

    def push(self, datapaths, unique=False, atomic=False, priority=0, lifo=False, cwd=None, max_attempts=None, max_losses=None,
             retry_delay=None, max_running=None, max_failures=None, max_starts=None):
        """Pushes DATAPATHS, an iterable of str, bytes or Paths (or one of these), and returns how many were pushed. UNIQUE skips
        those that are in the stack already, and does not count them. Memory use does not grow with their number. Unless ATOMIC,
        the first ones can be popped while the push runs. Relative ones start in the directory CWD (default: the working
        directory). The last six arguments set the stack's policy, as `jobstack set` does; MAX_STARTS is (N, SECONDS). If the call was interrupted, repeat
        it with UNIQUE: nothing is pushed twice."""
        options = jobstack_push_options.init()
        options.unique, options.atomic, options.lifo, options.priority = bool(unique), bool(atomic), bool(lifo), priority
        options.cwd = os.fsencode(os.getcwd() if cwd is None else os.path.abspath(os.fspath(cwd)))
        policy = jobstack_policy.init()
        options.policy = pointer(policy)
        for key, value in (("max_attempts", max_attempts), ("max_losses", max_losses), ("max_running", max_running),
                           ("max_failures", max_failures)):
            setattr(policy, key, -1 if value is None else value)
        policy.retry_delay_us = to_us(retry_delay, "retry_delay")
        if max_starts is not None:
            policy.max_starts, policy.starts_us = max_starts[0], to_us(max_starts[1], "max_starts")
        if isinstance(datapaths, (str, bytes, os.PathLike)):
            datapaths = [datapaths]
        source, raised, kept = iter(datapaths), [], []

        def give(_ctx, to):
            try:
                for path in source:
                    data = os.fsencode(path)
                    kept[:] = [data]  # valid until the next call
                    to.contents.data = ctypes.cast(c_char_p(data), c_void_p)
                    to.contents.len = len(data)
                    return 0
                return 1
            except BaseException as e:  # noqa: B902  an exception must not pass through C
                raised.append(e)
                return -1

        result = jobstack_push_result.init()
        try:
            self.connection.call(lib.jobstack_push_from, self._name, byref(options), NEXT(give), None, byref(result))
        except Error:
            if not raised:
                raise
        if raised:
            raise raised[0]
        return result.pushed

    def pop(self, lease=None, reraise=False):
        """Claims one entry for LEASE seconds; None when nothing is ready.  See Entry."""
        popped = self._pop(1, lease, reraise)
        return popped[0] if popped else None

    def _pop(self, n, lease, reraise):
        options, kept = identity(lease)
        batch = jobstack_batch.init()
        status, _ = self.connection.call(lib.jobstack_pop, self._name, byref(options), n, byref(batch))
        del kept
        try:
            return [] if status else [Entry(self, lib.jobstack_batch_entry(byref(batch), i).contents, batch.worker, reraise)
                                      for i in range(batch.count)]
        finally:
            lib.jobstack_batch_free(byref(batch))

    def entries(self, batch=1, lease=None, wait=False, reraise=False):
        """Pops entries until nothing is ready. With WAIT, until nothing is left: it waits for retries, for entries that run
        elsewhere and for pushes. BATCH: how many to claim at once (up to 500), for entries that take only milliseconds;
        LEASE must then suffice for all of them. Close each entry before you take the next: `with entry:` does."""
        open_now = []
        try:
            while True:
                popped = self._pop(batch, lease, reraise)
                if not popped:
                    if not wait:
                        return
                    status = self.status()
                    if status.finished or status.state in ("cancelled", "dropping"):
                        return
                    time.sleep(min(2.0, max(0.05, 2.0 if status.next_due is None else status.next_due)))
                    continue
                open_now.extend(popped)
                while open_now:
                    entry = open_now[0]
                    entry.begin()
                    yield entry
                    if entry.open:
                        raise UsageError("entry %d was not closed before the next one was taken: use `with entry:`" % entry.number,
                                         JOBSTACK_EUSAGE)
                    open_now.pop(0)
        finally:
            for entry in open_now[1:]:  # popped, but never handed to the caller
                entry.hand_back()

    def status(self):
        """This stack's Status.  Raises Missing if there is no such stack."""
        found = []
        self.connection.visit(lib.jobstack_status, STATUS, lambda s: found.append(Status(s)), self._name)
        return found[0]

    def each(self, function, states=None, entries=None, limit=0):
        """Calls FUNCTION with each Item in STATES (words as for `jobstack list -t`; default: any), of ENTRIES (numbers; default:
        all), at most LIMIT (0: no limit). Memory use is constant. FUNCTION must not use this connection."""
        choice, kept = _filter(states, entries, limit)
        self.connection.visit(lib.jobstack_list, ITEM, lambda i: function(Item(i)), self._name, byref(choice))
        del kept

    def list(self, states=None, entries=None, limit=0):
        """A list of Items: see each()."""
        found = []
        self.each(found.append, states, entries, limit)
        return found

    def attempts(self, number):
        """A list of Items, one for each attempt of an entry."""
        found = []
        self.connection.visit(lib.jobstack_attempts, ITEM, lambda i: found.append(Item(i)), self._name, number)
        return found

    def find(self, datapath):
        """The number of the entry with this datapath (the last one, if there are several); None if there is no such entry."""
        data, number = os.fsencode(datapath), c_uint64()
        view = jobstack_bytes(ctypes.cast(c_char_p(data), c_void_p), len(data))
        status, _ = self.connection.call(lib.jobstack_find, self._name, view, byref(number))
        return None if status else number.value

    def requeue(self, states=("dead",), entries=None, dry_run=False):
        """Puts entries in STATES (dead, cancelled or done) back into the queue, or only ENTRIES (numbers) of them; returns how many."""
        choice, kept = _filter(states, entries, 0)
        result = jobstack_requeue_result.init()
        self.connection.call(lib.jobstack_requeue, self._name, byref(choice), int(dry_run), byref(result))
        del kept
        return result.requeued

    def _set_state(self, state, note):
        self.connection.call(lib.jobstack_set_state, self._name, state, None if note is None else note.encode())

    def pause(self, note=None):
        """Stops popping from the stack; running entries continue."""
        self._set_state(JOBSTACK_PAUSED, note)

    def resume(self):
        """Ends a pause, or the cancel of the whole stack."""
        self._set_state(JOBSTACK_OPEN, None)

    def cancel(self, note=None, states=None, entries=None):
        """Cancels all entries that have not started. With STATES (ready, waiting or dead) or ENTRIES (numbers): only these; returns
        how many."""
        if states is None and entries is None:
            self._set_state(JOBSTACK_CANCELLED, note)
            return None
        choice, kept = _filter(states, entries, 0)
        options, result = jobstack_cancel_options.init(), jobstack_requeue_result.init()
        options.note = None if note is None else note.encode()
        self.connection.call(lib.jobstack_cancel, self._name, byref(choice), byref(options), byref(result))
        del kept
        return result.requeued


def _filter(states, entries, limit):
    choice, kept = jobstack_filter.init(), None
    for word in [states] if isinstance(states, str) else states or ():
        if word not in STATES:
            raise UsageError("unknown state %r: the states are %s" % (word, ", ".join(sorted(STATES))), JOBSTACK_EUSAGE)
        choice.states |= STATES[word]
    if entries is not None:
        numbers = sorted(set(entries))
        kept = (c_uint64 * max(1, len(numbers)))(*numbers)
        choice.entries = ctypes.cast(kept, POINTER(c_uint64))
        choice.entries_n = len(numbers)
    choice.limit = limit
    return choice, kept
