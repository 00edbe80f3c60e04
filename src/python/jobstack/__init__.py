# SPDX-License-Identifier: BSD-2-Clause
"""jobstack from Python: push entries, pop them, close them, look at stacks. Calls libjobstack by ctypes: nothing to build, Python
3.6 or later.

    import jobstack

    airs = jobstack.Stack("airs-2012")
    airs.push(pathlib.Path("/data/airs").glob("*.hdf"))

    for entry in airs.entries():
        with entry:                       # done at the end; an exception fails it and is the reason
            process(entry.path)

jobstack-worker is the better choice where it fits: it renews its lease automatically, stops processes that outlive their
command, and keeps what commands print. Here nobody renews the lease, which lasts to the end of the Slurm job, else 12 hours
(`lease=` sets it). An entry that takes longer may be given to another worker; `entry.renew()` extends its lease.

Threads and processes: a connection (with its stacks and entries) may be used by one thread at a time, and not in a child after
a fork. Make a connection for each. Using or closing one during a call (from another thread, in a callback), or after it was
closed, raises UsageError.  The library's messages go to logging.getLogger("jobstack").  See docs/LANGUAGES.md.
"""
from .connection import Connection, connect
from .entry import Entry
from .errors import Conflict, Error, Failed, Later, LeaseLost, Missing, NoDatabase, UsageError
from .frame import dataframe
from .header import JOBSTACK_VERSION as __version__
from .library import version
from .looks import Item, Status
from .stack import Stack

__all__ = ["Conflict", "Connection", "Entry", "Error", "Failed", "Item", "Later", "LeaseLost", "Missing", "NoDatabase", "Stack",
           "Status", "UsageError", "__version__", "connect", "dataframe", "version"]
