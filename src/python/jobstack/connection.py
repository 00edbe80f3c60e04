# SPDX-License-Identifier: BSD-2-Clause
"""Connections, and the calls that go over them."""
import contextlib
import ctypes
import logging
import os
import threading
from ctypes import byref, c_void_p

from .errors import Error, UsageError, judge
from .header import JOBSTACK_EUSAGE, JOBSTACK_LOG_ERROR, JOBSTACK_LOG_INFO, JOBSTACK_LOG_WARNING, jobstack_error, jobstack_options
from .library import LOG, STATUS, lib, log, option_file, to_bytes, to_text, to_us
from .looks import Status

_LEVELS = {JOBSTACK_LOG_ERROR: logging.ERROR, JOBSTACK_LOG_WARNING: logging.WARNING, JOBSTACK_LOG_INFO: logging.INFO}


class Connection:
    """A connection to the database. DEFAULTS_FILE is chosen as for the command; the other arguments override the file.
    PATIENCE: how many seconds to keep trying when the database becomes unreachable after the first connection."""

    def __init__(self, defaults_file=None, host=None, port=0, socket=None, user=None, password=None, database=None,
                 patience=60):
        options = jobstack_options.init()
        options.defaults_file = to_bytes(option_file(defaults_file))
        options.host, options.socket, options.user = to_bytes(host), to_bytes(socket), to_bytes(user)
        options.password, options.database, options.port = to_bytes(password), to_bytes(database), port
        options.patience_us = to_us(patience, "patience")
        self._log = LOG(self._say)  # must live as long as the handle
        options.log = ctypes.cast(self._log, c_void_p)
        self._handle = c_void_p()
        self._pid = os.getpid()
        self._busy = threading.Lock()
        error = jobstack_error()
        judge(lib.jobstack_open(byref(self._handle), byref(options), byref(error)), error)

    @staticmethod
    def _say(_ctx, level, text):
        log.log(_LEVELS.get(level, logging.DEBUG), "%s", to_text(text))

    @contextlib.contextmanager
    def _use(self, closing=False):
        """Gives the handle, which nobody else uses or frees meanwhile. NULL, if it is closed already, only for CLOSING it."""
        if self._pid != os.getpid():
            raise UsageError("the connection was made in another process: connect in this one", JOBSTACK_EUSAGE)
        if not self._busy.acquire(False):
            raise UsageError("the connection is in use by a call that has not returned: a callback or another thread needs its own",
                             JOBSTACK_EUSAGE)
        try:
            if not self._handle and not closing:
                raise UsageError("the connection is closed: connect again", JOBSTACK_EUSAGE)
            yield self._handle
        finally:
            self._busy.release()

    def call(self, function, *args):
        """Calls FUNCTION with the handle, ARGS and an error; returns 0 or 1, and the error."""
        error = jobstack_error()
        with self._use() as handle:
            status = function(handle, *(args + (byref(error),)))
        if status < 0:
            judge(status, error)
        return status, error

    def visit(self, function, prototype, take, *args):
        """Calls FUNCTION with a callback that passes each object to TAKE. An exception in TAKE ends the call and is raised."""
        raised = []

        def each(_ctx, what):
            try:
                take(what.contents)
                return 0
            except BaseException as e:  # noqa: B902  an exception must not pass through C
                raised.append(e)
                return 1

        try:
            self.call(function, *(args + (prototype(each), None)))
        except Error:
            if not raised:
                raise
        if raised:
            raise raised[0]

    def stack(self, name=None):
        from .stack import Stack  # which needs this module

        return Stack(name, self)

    def stacks(self):
        """The status of all stacks, by name."""
        found = []
        self.visit(lib.jobstack_status, STATUS, lambda s: found.append(Status(s)), None)
        return found

    def describe(self):
        """The server and database that it is connected to, as text."""
        text = ctypes.create_string_buffer(600)
        with self._use() as handle:
            lib.jobstack_describe(handle, text, len(text))
        return to_text(text.value)

    def close(self):
        """Closes it. Popped entries stay claimed until they are closed or their lease ends. During a call (in a callback,
        in another thread) it raises UsageError."""
        if self._pid != os.getpid():
            self._handle.value = None  # the parent still uses it
            return
        with self._use(closing=True) as handle:
            old, handle.value = c_void_p(handle.value), None  # copies of this object are closed as well
            lib.jobstack_free(old)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def __del__(self):
        if getattr(self, "_handle", None) and lib is not None:
            self.close()


def connect(defaults_file=None, **options):
    """A Connection: `jobstack.connect()` finds the database as the command `jobstack` does."""
    return Connection(defaults_file, **options)
