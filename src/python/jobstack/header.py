# SPDX-License-Identifier: BSD-2-Clause
"""What the headers in include/jobstack say: written by scripts/python-structs, which see."""
import ctypes
from ctypes import POINTER, c_char, c_char_p, c_double, c_int, c_int32, c_int64, c_size_t, c_uint, c_uint32, c_uint64, c_void_p


class _Sized(ctypes.Structure):
    """Begins with its size. What its ..._INIT macro does not start as 0 is in _start_."""
    _start_ = dict()

    @classmethod
    def init(cls):
        return cls(size=ctypes.sizeof(cls), **cls._start_)


JOBSTACK_ABI = 2
JOBSTACK_IS_READY = 1
JOBSTACK_IS_WAITING = 2
JOBSTACK_IS_HELD = 4
JOBSTACK_IS_RUNNING = 8
JOBSTACK_IS_DONE = 16
JOBSTACK_IS_DEAD = 32
JOBSTACK_IS_FAILED = 64
JOBSTACK_IS_LOST = 128
JOBSTACK_IS_CANCELLED = 256
JOBSTACK_IS_MOVED = 512
JOBSTACK_VERSION = "0.2.0"
JOBSTACK_OK = 0
JOBSTACK_NOTHING = 1
JOBSTACK_EUSAGE = -2
JOBSTACK_EMISSING = -3
JOBSTACK_ECONFLICT = -4
JOBSTACK_EINPUT = -5
JOBSTACK_EFILE = -6
JOBSTACK_ESCHEMA = -7
JOBSTACK_ENODB = -69
JOBSTACK_EBUG = -70
JOBSTACK_EPERM = -77
JOBSTACK_ESTOPPED = -130
JOBSTACK_PRIORITY_UNCHANGED = -2147483648
JOBSTACK_LOG_ERROR = 0
JOBSTACK_LOG_WARNING = 1
JOBSTACK_LOG_INFO = 2
JOBSTACK_LOG_DEBUG = 3
JOBSTACK_LOG_PROGRESS = 4
JOBSTACK_OPEN = 0
JOBSTACK_PAUSED = 1
JOBSTACK_CANCELLED = 2
JOBSTACK_DROPPING = 3
JOBSTACK_CAUSE_NONE = 0
JOBSTACK_CAUSE_EXIT = 1
JOBSTACK_CAUSE_SIGNAL = 2
JOBSTACK_CAUSE_TIMEOUT = 3
JOBSTACK_CAUSE_MEMORY = 4
JOBSTACK_CAUSE_KILLED = 5
JOBSTACK_CAUSE_DEFERRED = 6
JOBSTACK_CAUSE_NODE = 7
JOBSTACK_CAUSE_RESULT = 8
JOBSTACK_CAUSE_START = 9
JOBSTACK_CAUSE_OUTPUT = 10
JOBSTACK_CAUSE_WALL_TIME = 11
JOBSTACK_CAUSE_STOPPED = 12
JOBSTACK_CAUSE_LEASE = 13
JOBSTACK_CAUSE_NODE_FAILED = 14
JOBSTACK_CAUSE_PREEMPTED = 15
JOBSTACK_CAUSE_CANCELLED = 16
JOBSTACK_CAUSE_WORKER = 17
JOBSTACK_CAUSE_PAUSED = 18
JOBSTACK_CAUSE_OTHER = 19
JOBSTACK_CAUSES = 20
JOBSTACK_DONE = 0
JOBSTACK_FAILED = 1
JOBSTACK_LOST = 2
JOBSTACK_INTERRUPTED = 3
JOBSTACK_UNSTARTED = 4


class jobstack_error(ctypes.Structure):
    _fields_ = [
        ("code", c_int),
        ("server_errno", c_uint),
        ("text", c_char * 1000),
    ]


class jobstack_bytes(ctypes.Structure):
    _fields_ = [
        ("data", c_void_p),
        ("len", c_size_t),
    ]


class jobstack_options(_Sized):
    _fields_ = [
        ("size", c_size_t),
        ("defaults_file", c_char_p),
        ("host", c_char_p),
        ("socket", c_char_p),
        ("user", c_char_p),
        ("password", c_char_p),
        ("database", c_char_p),
        ("port", c_uint),
        ("patience_us", c_int64),
        ("crowd_us", c_int64),
        ("log", c_void_p),
        ("log_ctx", c_void_p),
        ("os_user", c_char_p),
        ("first_us", c_int64),
    ]


class jobstack_status(ctypes.Structure):
    _fields_ = [
        ("stack_id", c_uint64),
        ("stack", c_char_p),
        ("state", c_int),
        ("pushed", c_uint64),
        ("ready", c_uint64),
        ("waiting", c_uint64),
        ("held", c_uint64),
        ("running", c_uint64),
        ("done", c_uint64),
        ("dead", c_uint64),
        ("cancelled", c_uint64),
        ("workers", c_uint64),
        ("slots", c_uint64),
        ("pushers", c_uint64),
        ("rate", c_double),
        ("next_due_us", c_int64),
        ("cwd", c_char_p),
        ("max_attempts", c_uint32),
        ("max_losses", c_uint32),
        ("retry_delay_us", c_int64),
        ("max_running", c_int64),
        ("max_failures", c_int64),
        ("moved", c_uint64),
        ("pruned", c_uint64),
        ("note", c_char_p),
        ("busy", c_uint64),
        ("silent", c_uint64),
        ("ended", c_uint64),
        ("strict_order", c_uint64),
        ("idle_us", c_int64),
        ("max_starts", c_int64),
        ("starts_us", c_int64),
    ]


class jobstack_policy(_Sized):
    _fields_ = [
        ("size", c_size_t),
        ("max_attempts", c_int32),
        ("max_losses", c_int32),
        ("retry_delay_us", c_int64),
        ("max_running", c_int64),
        ("max_failures", c_int64),
        ("priority", c_int32),
        ("strict_order", c_int64),
        ("max_starts", c_int64),
        ("starts_us", c_int64),
    ]
    _start_ = dict(max_attempts=-1, max_losses=-1, retry_delay_us=-1, max_running=-1, max_failures=-1, priority=-2147483648,
                   strict_order=-1, max_starts=-1, starts_us=-1)


class jobstack_push_options(_Sized):
    _fields_ = [
        ("size", c_size_t),
        ("unique", c_int),
        ("atomic", c_int),
        ("priority", c_int32),
        ("lifo", c_int),
        ("cwd", c_char_p),
        ("policy", POINTER(jobstack_policy)),
        ("origin", c_void_p),
    ]


class jobstack_push_result(_Sized):
    _fields_ = [
        ("size", c_size_t),
        ("pushed", c_uint64),
        ("skipped", c_uint64),
        ("before", c_uint64),
        ("bad", c_uint64),
    ]


class jobstack_entry(ctypes.Structure):
    _fields_ = [
        ("size", c_size_t),
        ("entry", c_uint64),
        ("attempt", c_uint32),
        ("fails", c_uint32),
        ("losses", c_uint32),
        ("datapath", c_char_p),
        ("datapath_len", c_size_t),
        ("last_end_us", c_int64),
    ]


class jobstack_batch(_Sized):
    _fields_ = [
        ("size", c_size_t),
        ("worker", c_uint64),
        ("count", c_size_t),
        ("first", POINTER(jobstack_entry)),
        ("memory", c_void_p),
        ("start_by_us", c_int64),
    ]


class jobstack_outcome(_Sized):
    _fields_ = [
        ("size", c_size_t),
        ("entry", c_uint64),
        ("attempt", c_uint32),
        ("verdict", c_int),
        ("cause", c_int),
        ("fatal", c_int),
        ("later", c_int),
        ("exit_code", c_int32),
        ("signal", c_int32),
        ("reason", c_char_p),
        ("started_us", c_int64),
        ("ended_us", c_int64),
        ("user_us", c_int64),
        ("system_us", c_int64),
        ("maxrss_kib", c_int64),
        ("read_bytes", c_int64),
        ("write_bytes", c_int64),
        ("log", c_char_p),
        ("log_at", c_int64),
        ("log_out", c_int64),
        ("log_err", c_int64),
        ("loss", c_int),
        ("err_log", c_char_p),
        ("err_at", c_int64),
        ("err_tail", jobstack_bytes),
        ("major_faults", c_int64),
        ("storage_read_bytes", c_int64),
        ("storage_write_bytes", c_int64),
        ("peak_kib", c_int64),
        ("io_wait_us", c_int64),
        ("program", c_int64),
        ("mount", c_int64),
        ("packages", c_int64),
    ]
    _start_ = dict(exit_code=-1, user_us=-1, system_us=-1, maxrss_kib=-1, read_bytes=-1, write_bytes=-1, log_at=-1, log_out=-1,
                   log_err=-1, err_at=-1, major_faults=-1, storage_read_bytes=-1, storage_write_bytes=-1, peak_kib=-1,
                   io_wait_us=-1, program=-1, mount=-1, packages=-1)


class jobstack_worker_options(_Sized):
    _fields_ = [
        ("size", c_size_t),
        ("lease_us", c_int64),
        ("slots", c_uint32),
        ("pid", c_int64),
        ("pid_start", c_int64),
        ("job_start_us", c_int64),
        ("host", c_char_p),
        ("boot", c_char_p),
        ("node", c_char_p),
        ("cluster", c_char_p),
        ("job", c_char_p),
        ("array_job", c_char_p),
        ("array_task", c_char_p),
        ("step", c_char_p),
        ("account", c_char_p),
        ("qos", c_char_p),
        ("partition", c_char_p),
        ("user", c_char_p),
        ("cwd", c_char_p),
        ("log", c_char_p),
        ("argv", jobstack_bytes),
        ("platform", c_int64),
        ("memory_mib", c_int64),
        ("nodes", c_int64),
    ]
    _start_ = dict(pid=-1, pid_start=-1, job_start_us=-1, platform=-1, memory_mib=-1, nodes=-1)


class jobstack_filter(_Sized):
    _fields_ = [
        ("size", c_size_t),
        ("states", c_uint),
        ("entries", POINTER(c_uint64)),
        ("entries_n", c_size_t),
        ("limit", c_uint64),
        ("match", c_char_p),
        ("exit_codes", c_void_p),
        ("exit_codes_n", c_size_t),
        ("signals", POINTER(c_int32)),
        ("signals_n", c_size_t),
        ("nodes", c_void_p),
        ("nodes_n", c_size_t),
        ("reason", c_char_p),
        ("older_us", c_int64),
        ("newer_us", c_int64),
        ("tails", c_int),
        ("programs", POINTER(c_int64)),
        ("programs_n", c_size_t),
    ]


class jobstack_item(ctypes.Structure):
    _fields_ = [
        ("entry", c_uint64),
        ("datapath", jobstack_bytes),
        ("state", c_uint),
        ("attempt", c_uint32),
        ("outcome", c_int),
        ("cause", c_int),
        ("exit_code", c_int32),
        ("signal", c_int32),
        ("reason", c_char_p),
        ("node", c_char_p),
        ("worker", c_uint64),
        ("started_us", c_int64),
        ("ended_us", c_int64),
        ("user_us", c_int64),
        ("system_us", c_int64),
        ("maxrss_kib", c_int64),
        ("read_bytes", c_int64),
        ("write_bytes", c_int64),
        ("log", c_char_p),
        ("log_at", c_int64),
        ("log_out", c_int64),
        ("log_err", c_int64),
        ("host", c_char_p),
        ("cluster", c_char_p),
        ("job", c_char_p),
        ("array_job", c_char_p),
        ("array_task", c_char_p),
        ("step", c_char_p),
        ("account", c_char_p),
        ("qos", c_char_p),
        ("partition", c_char_p),
        ("user", c_char_p),
        ("cwd", c_char_p),
        ("argv", jobstack_bytes),
        ("slots", c_uint32),
        ("err_log", c_char_p),
        ("err_at", c_int64),
        ("err_tail", jobstack_bytes),
        ("to_stack", c_char_p),
        ("to_entry", c_uint64),
        ("major_faults", c_int64),
        ("note", c_char_p),
        ("storage_read_bytes", c_int64),
        ("storage_write_bytes", c_int64),
        ("peak_kib", c_int64),
        ("io_wait_us", c_int64),
        ("program", c_int64),
        ("mount", c_int64),
        ("packages", c_int64),
        ("platform", c_int64),
        ("cursor", c_char_p),
    ]


class jobstack_requeue_result(_Sized):
    _fields_ = [
        ("size", c_size_t),
        ("requeued", c_uint64),
        ("refused", c_uint64),
        ("missing", c_uint64),
    ]


class jobstack_cancel_options(_Sized):
    _fields_ = [
        ("size", c_size_t),
        ("note", c_char_p),
        ("dry_run", c_int),
    ]
