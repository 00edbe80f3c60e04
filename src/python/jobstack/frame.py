# SPDX-License-Identifier: BSD-2-Clause
"""A stack's attempts as a table, for analysis."""
from .library import ITEM, lib, to_seconds
from .looks import Item
from .stack import Stack

_FIGURES = ("maxrss_kib", "peak_kib", "read_bytes", "write_bytes", "storage_read_bytes", "storage_write_bytes", "major_faults",
            "program", "mount", "packages")
_TIMES = {"user_seconds": "user_us", "system_seconds": "system_us", "io_wait_seconds": "io_wait_us"}
_OTHERS = ("entry", "attempt", "path", "outcome", "exit_code", "signal", "reason", "node", "job", "started", "ended", "seconds")


def dataframe(name=None, connection=None, **options):
    """All attempts of the stack NAME that have ended, a row each, in the order of the entries: a pandas.DataFrame, in which
    started and ended are times; without pandas a dict of lists, in which they are seconds since 1970. What is not known is
    None (NaN). The arguments are those of Stack. It needs some hundred bytes of memory per attempt and column."""
    stack = Stack(name, connection, **options)
    table = {column: [] for column in _OTHERS + tuple(_TIMES) + _FIGURES}

    def add(raw):
        item = Item(raw)
        for column in _OTHERS:
            table[column].append(getattr(item, column))
        for column, member in _TIMES.items():
            table[column].append(to_seconds(getattr(raw, member)))
        for column in _FIGURES:
            table[column].append(None if getattr(raw, column) < 0 else getattr(raw, column))

    stack.connection.visit(lib.jobstack_export, ITEM, add, stack.name.encode(), None)
    try:
        import pandas
    except ImportError:
        return table
    frame = pandas.DataFrame(table)
    for column in ("started", "ended"):
        frame[column] = pandas.to_datetime(frame[column], unit="s", utc=True)
    for column in tuple(_TIMES) + _FIGURES:  # a column of None alone would be one of objects
        frame[column] = pandas.to_numeric(frame[column])
    return frame
