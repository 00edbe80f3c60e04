# SPDX-License-Identifier: BSD-2-Clause
"""The exceptions of this module."""
from .header import (JOBSTACK_ECONFLICT, JOBSTACK_EINPUT, JOBSTACK_EMISSING, JOBSTACK_ENODB, JOBSTACK_ESCHEMA, JOBSTACK_EUSAGE,
                     JOBSTACK_NOTHING)

TRY_AGAIN = 75  # EX_TEMPFAIL


class Error(Exception):
    """An error of libjobstack. `code` is its number (JOBSTACK_E... in jobstack.h), `server_errno` the server's, or 0."""

    def __init__(self, text, code=0, server_errno=0):
        super().__init__(text)
        self.code = code
        self.server_errno = server_errno


class UsageError(Error):
    """An argument is wrong: a bad name, a value out of range, a datapath with a NUL, a connection used twice at once, or closed."""


class Missing(Error):
    """There is no such stack, or no such entry."""


class Conflict(Error):
    """The call is not possible in the present state of the stack or the entry."""


class NoDatabase(Error):
    """The database can't be reached, or its schema does not match this version."""


class LeaseLost(Error):
    """The entry was given to another worker, or was closed before with another outcome, which stays."""


class Failed(Exception):
    """Raise it in a `with entry:` to choose the exit code (1 to 255; 75 means Later), or to make the entry dead at once."""

    def __init__(self, reason="", code=1, fatal=False):
        super().__init__(reason)
        if not 1 <= code <= 255:
            raise ValueError("a failure's code is 1 to 255, not %r" % (code,))
        self.code = code
        self.fatal = fatal


class Later(Failed):
    """Raise it in a `with entry:` to retry the entry after the stack's retry delay. This does not count as a failure."""

    def __init__(self, reason="try again later"):
        super().__init__(reason, TRY_AGAIN)


CLASSES = {JOBSTACK_NOTHING: LeaseLost, JOBSTACK_EUSAGE: UsageError, JOBSTACK_EINPUT: UsageError,
           JOBSTACK_EMISSING: Missing, JOBSTACK_ECONFLICT: Conflict, JOBSTACK_ENODB: NoDatabase, JOBSTACK_ESCHEMA: NoDatabase}


def judge(status, error):
    """Raises the exception for STATUS and ERROR (a jobstack_error); does nothing if STATUS is 0."""
    if status != 0:
        text = error.text.decode("utf-8", "replace") or "libjobstack returned %d" % status
        raise CLASSES.get(status, Error)(text, status, error.server_errno)
