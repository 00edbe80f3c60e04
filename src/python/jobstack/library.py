# SPDX-License-Identifier: BSD-2-Clause
"""libjobstack itself: its location, the types of its functions, and conversions of their arguments and results."""
import ctypes
import glob
import logging
import os
import pwd
from ctypes import CFUNCTYPE, POINTER, c_char_p, c_int, c_int64, c_size_t, c_uint32, c_uint64, c_void_p

from .errors import UsageError
from .header import (JOBSTACK_ABI, JOBSTACK_EUSAGE, JOBSTACK_VERSION, jobstack_batch, jobstack_bytes, jobstack_cancel_options,
                     jobstack_entry, jobstack_error, jobstack_filter, jobstack_item, jobstack_options, jobstack_outcome,
                     jobstack_push_options, jobstack_push_result, jobstack_requeue_result, jobstack_status,
                     jobstack_worker_options)

SECOND = 1000000  # of our microseconds
log = logging.getLogger("jobstack")

LOG = CFUNCTYPE(None, c_void_p, c_int, c_char_p)
NEXT = CFUNCTYPE(c_int, c_void_p, POINTER(jobstack_bytes))
STATUS = CFUNCTYPE(c_int, c_void_p, POINTER(jobstack_status))
ITEM = CFUNCTYPE(c_int, c_void_p, POINTER(jobstack_item))

_P_ERROR = POINTER(jobstack_error)
_PROTOTYPES = {
    "jobstack_open": [POINTER(c_void_p), POINTER(jobstack_options), _P_ERROR],
    "jobstack_status": [c_void_p, c_char_p, STATUS, c_void_p, _P_ERROR],
    "jobstack_set_state": [c_void_p, c_char_p, c_int, c_char_p, _P_ERROR],
    "jobstack_push_from": [c_void_p, c_char_p, POINTER(jobstack_push_options), NEXT, c_void_p,
                           POINTER(jobstack_push_result), _P_ERROR],
    "jobstack_pop": [c_void_p, c_char_p, POINTER(jobstack_worker_options), c_size_t, POINTER(jobstack_batch), _P_ERROR],
    "jobstack_close": [c_void_p, c_char_p, POINTER(jobstack_outcome), c_size_t, POINTER(c_int), _P_ERROR],
    "jobstack_renew": [c_void_p, c_char_p, c_uint64, c_uint32, c_int64, _P_ERROR],
    "jobstack_list": [c_void_p, c_char_p, POINTER(jobstack_filter), ITEM, c_void_p, _P_ERROR],
    "jobstack_export": [c_void_p, c_char_p, c_void_p, ITEM, c_void_p, _P_ERROR],
    "jobstack_attempts": [c_void_p, c_char_p, c_uint64, ITEM, c_void_p, _P_ERROR],
    "jobstack_find": [c_void_p, c_char_p, jobstack_bytes, POINTER(c_uint64), _P_ERROR],
    "jobstack_cancel": [c_void_p, c_char_p, POINTER(jobstack_filter), POINTER(jobstack_cancel_options),
                        POINTER(jobstack_requeue_result), _P_ERROR],
    "jobstack_requeue": [c_void_p, c_char_p, POINTER(jobstack_filter), c_int, POINTER(jobstack_requeue_result), _P_ERROR],
}


def _candidates():
    name = "libjobstack.so.%d" % JOBSTACK_ABI
    here = os.path.dirname(os.path.realpath(__file__))
    yield os.path.join(here, name)  # in a wheel
    prefixes = [os.path.join(here, "..", "..", "..", "..")]  # of PREFIX/share/jobstack/python, PREFIX/lib/python3/dist-packages
    for directory in os.environ.get("PATH", "").split(os.pathsep):
        tool = os.path.join(directory, "jobstack")
        if os.access(tool, os.X_OK):
            prefixes.append(os.path.join(os.path.dirname(os.path.realpath(tool)), ".."))
            break
    for prefix in prefixes:
        for lib in ("lib", "lib64", "lib/*-linux-*"):
            yield from sorted(glob.glob(os.path.join(glob.escape(prefix), lib, name)))
    yield name  # wherever the loader looks: LD_LIBRARY_PATH, ldconfig


def _load():
    """Loads $JOBSTACK_LIBRARY, else the library in this module's or the command's prefix, else what the loader finds."""
    given = os.environ.get("JOBSTACK_LIBRARY")
    said = []
    for path in [given] if given else _candidates():
        try:
            found = ctypes.CDLL(path)
            break
        except OSError as e:
            said.append(str(e))
    else:
        raise ImportError("can't load libjobstack (set $JOBSTACK_LIBRARY to its path): " + "; ".join(said))
    found.jobstack_version.restype = c_char_p
    found.jobstack_now_us.restype = c_int64
    found.jobstack_free.argtypes = [c_void_p]
    found.jobstack_free.restype = None
    found.jobstack_batch_entry.argtypes = [POINTER(jobstack_batch), c_size_t]
    found.jobstack_batch_entry.restype = POINTER(jobstack_entry)
    found.jobstack_batch_free.argtypes = [POINTER(jobstack_batch)]
    found.jobstack_batch_free.restype = None
    found.jobstack_describe.argtypes = [c_void_p, c_char_p, c_size_t]
    found.jobstack_describe.restype = None
    for name, types in _PROTOTYPES.items():
        getattr(found, name).argtypes = types
    runs = found.jobstack_version().decode()
    if [int(n) for n in runs.split(".")] < [int(n) for n in JOBSTACK_VERSION.split(".")]:
        raise ImportError("the Python module jobstack %s needs that version of libjobstack, or a later one, but it is %s" % (
            JOBSTACK_VERSION, runs))
    return found


lib = _load()


def version():
    """The version of the loaded libjobstack."""
    return lib.jobstack_version().decode()


def to_bytes(text):
    return None if text is None else os.fsencode(text)


def to_text(data):
    return None if data is None else data.decode("utf-8", "replace")


def to_data(view):
    return ctypes.string_at(view.data, view.len) if view.data else b""


def to_seconds(us):
    return None if us < 0 else us / SECOND


def to_us(seconds, what):
    if seconds is None:
        return -1
    if not 0 <= seconds < 1e9:
        raise UsageError("%s must be a number of seconds from 0 to 999999999, not %r" % (what, seconds), JOBSTACK_EUSAGE)
    return int(seconds * SECOND)


def option_file(given=None):
    """The option file that the command would read: GIVEN, $JOBSTACK_DEFAULTS_FILE, that of `jobstack server`, or ~/.my.cnf."""
    given = given or os.environ.get("JOBSTACK_DEFAULTS_FILE")
    if given:
        return os.fspath(given)
    home = os.environ.get("HOME") or pwd.getpwuid(os.geteuid()).pw_dir
    config = os.environ.get("XDG_CONFIG_HOME", "")
    server = os.path.join(config if config.startswith("/") else os.path.join(home, ".config"), "jobstack", "client.cnf")
    for path in (server, os.path.join(home, ".my.cnf")):
        if os.path.exists(path):
            return path
    return None
