# SPDX-License-Identifier: BSD-2-Clause
"""jobstack from Python: push, pop, close, look.  A thin layer over libjobstack by ctypes: no build, Python 3.6 or later.

    import jobstack

    airs = jobstack.Stack("airs-2012")
    airs.push(pathlib.Path("/data/airs").glob("*.hdf"))

    for entry in airs.entries():
        with entry:                       # done at the end; what is raised fails it, with that as its reason
            process(entry.path)

jobstack-worker is the better choice where it fits: it keeps its lease by itself, stops what outlives it, and keeps what
commands print.  Here nobody does: an entry that takes longer than its lease (to the end of the Slurm job, else 12 hours;
`lease=`) may be given to somebody else; `entry.renew()` gives more time.

Threads and processes: a connection (and its stacks and entries) is used by one thread at a time, and not in a child after
a fork: make one for each.  Using one twice at once raises UsageError.  The library's messages go to
logging.getLogger("jobstack").  See docs/LANGUAGES.md.
"""
from .connection import Connection, connect
from .entry import Entry
from .errors import Conflict, Error, Failed, Later, LeaseLost, Missing, NoDatabase, UsageError
from .header import JOBSTACK_VERSION as __version__
from .library import version
from .looks import Item, Status
from .stack import Stack

__all__ = ["Conflict", "Connection", "Entry", "Error", "Failed", "Item", "Later", "LeaseLost", "Missing", "NoDatabase", "Stack",
           "Status", "UsageError", "__version__", "connect", "version"]
