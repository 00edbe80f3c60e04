# SPDX-License-Identifier: BSD-2-Clause
"""A popped entry, and who popped it."""
import ctypes
import os
import pwd
import socket
import subprocess
import sys
import time
from ctypes import byref, c_char_p, c_void_p

from .errors import TRY_AGAIN, Failed, UsageError, judge
from .header import (JOBSTACK_DONE, JOBSTACK_EUSAGE, JOBSTACK_FAILED, JOBSTACK_INTERRUPTED, JOBSTACK_UNSTARTED, jobstack_bytes,
                     jobstack_outcome, jobstack_worker_options)
from .library import SECOND, lib, log, to_bytes, to_us

_LEASE = 12 * 3600
_ends = {}  # job: when it ends


def _job_end(job):
    """When the Slurm job ends, in seconds since 1970; None without a job, or if it is unknown. Asks Slurm once per job."""
    end = os.environ.get("SLURM_JOB_END_TIME", "")  # Slurm 23.02 and later
    if job is None:
        return None
    if job not in _ends:
        try:
            if not end.isdigit():
                said = subprocess.check_output(["squeue", "-h", "-O", "EndTime:40,Cluster:128", "-j", job], stderr=subprocess.DEVNULL, timeout=30)
                end, cluster = said.decode().split()
                if cluster != os.environ.get("SLURM_CLUSTER_NAME", cluster):
                    raise ValueError("the cluster %s has another job of this number" % cluster)
                end = time.mktime(time.strptime(end, "%Y-%m-%dT%H:%M:%S"))
            _ends[job] = float(end)
        except (OSError, ValueError, IndexError, OverflowError, subprocess.SubprocessError):
            _ends[job] = None
            log.warning("can't find out when Slurm job %s ends: the lease is 12 hours", job)
    return _ends[job]


def identity(lease):
    """The options that describe this process in the database, and an object that must live as long as they do."""
    options = jobstack_worker_options.init()
    env = {name: os.environ.get(name) or None for name in (
        "SLURMD_NODENAME", "SLURM_CLUSTER_NAME", "SLURM_JOB_ID", "SLURM_ARRAY_JOB_ID", "SLURM_ARRAY_TASK_ID", "SLURM_STEP_ID",
        "SLURM_JOB_ACCOUNT", "SLURM_JOB_QOS", "SLURM_JOB_PARTITION")}
    host = socket.gethostname()
    try:
        user = pwd.getpwuid(os.geteuid()).pw_name
    except KeyError:
        user = None
    try:
        cwd = os.getcwd()
    except OSError:
        cwd = None
    argv = b"\0".join([b"python", os.fsencode((sys.argv or [""])[0]), b""])
    if lease is None:
        end = _job_end(env["SLURM_JOB_ID"])
        options.lease_us = int(max(60, _LEASE if end is None else end - time.time()) * SECOND)
    else:
        options.lease_us = to_us(lease, "lease")
        if options.lease_us < SECOND:
            raise UsageError("a lease is at least a second, not %r" % (lease,), JOBSTACK_EUSAGE)
    start = os.environ.get("SLURM_JOB_START_TIME", "")
    options.job_start_us = int(start) * SECOND if env["SLURM_JOB_ID"] and start.isdigit() else -1
    options.slots, options.pid = 1, os.getpid()
    options.host, options.user, options.cwd = to_bytes(host), to_bytes(user), to_bytes(cwd)
    options.node = to_bytes(env["SLURMD_NODENAME"] or host)
    options.cluster, options.job, options.step = map(to_bytes, (env["SLURM_CLUSTER_NAME"], env["SLURM_JOB_ID"], env["SLURM_STEP_ID"]))
    task = env["SLURM_ARRAY_TASK_ID"]  # below jobstack-worker it is no number
    options.array_job, options.array_task = to_bytes(env["SLURM_ARRAY_JOB_ID"]), to_bytes(task if task and task.isdigit() else None)
    options.account, options.qos = to_bytes(env["SLURM_JOB_ACCOUNT"]), to_bytes(env["SLURM_JOB_QOS"])
    options.partition = to_bytes(env["SLURM_JOB_PARTITION"])
    options.argv = jobstack_bytes(ctypes.cast(c_char_p(argv), c_void_p), len(argv))
    return options, argv


class Entry:
    """A popped entry: `number`, `attempt` (from 1), `fails` and `losses` of earlier attempts, `path` (a str for open()),
    `datapath` (the same as bytes). open(entry) works.

    `with entry:` closes it as done, or as failed if an exception was raised, with the exception as its reason. Raise Failed or
    Later to choose how it ends. An Exception is not raised further: it is logged with its traceback and kept as `entry.error`.
    With reraise=True, it is also raised. KeyboardInterrupt, SystemExit and the like put the entry back, which does not count
    as a failure, and are raised. Or call done(), failed(), later() or hand_back() yourself. LeaseLost is raised if the entry
    has been given to another worker."""

    def __init__(self, stack, e, worker, reraise=False):
        self.stack = stack
        self.number, self.attempt, self.fails, self.losses = e.entry, e.attempt, e.fails, e.losses
        self.datapath = e.datapath  # a copy
        self.path = os.fsdecode(self.datapath)
        self.worker = worker
        self.open = True
        self.error = None
        self._reraise = reraise
        self.begin()

    def begin(self):
        self._started = lib.jobstack_now_us()

    def __fspath__(self):
        return self.path

    def __repr__(self):
        return "<entry %d, attempt %d: %s>" % (self.number, self.attempt, self.path)

    def _close(self, verdict, code=-1, reason=None, fatal=False, later=False):
        o = jobstack_outcome.init()
        o.entry, o.attempt, o.verdict, o.exit_code = self.number, self.attempt, verdict, code
        o.fatal, o.later = bool(fatal), bool(later)
        o.reason = None if reason is None else _reason(reason)
        o.started_us, o.ended_us = self._started, lib.jobstack_now_us()
        status, error = self.stack.connection.call(lib.jobstack_close, self.stack._name, byref(o), 1, None)
        self.open = False
        judge(status, error)

    def done(self):
        self._close(JOBSTACK_DONE, 0)

    def failed(self, reason="", code=1, fatal=False):
        """Closes it as failed with this exit code (1 to 255). 75 means later(). With FATAL the entry is dead and not retried."""
        if not 1 <= code <= 255:
            raise UsageError("a failure's code is 1 to 255, not %r" % (code,), JOBSTACK_EUSAGE)
        if code == TRY_AGAIN:
            return self.later(reason)
        return self._close(JOBSTACK_FAILED, code, reason or "exit %d" % code, fatal)

    def later(self, reason="try again later"):
        """Puts it back, to be retried after the stack's retry delay. This does not count as a failure."""
        self._close(JOBSTACK_INTERRUPTED, TRY_AGAIN, reason or "try again later", later=True)

    def hand_back(self):
        """Puts it back as if it had never been popped."""
        self._close(JOBSTACK_UNSTARTED)

    def renew(self, lease=None):
        """Renews the lease for LEASE seconds from now (default: as long as before)."""
        us = 0 if lease is None else max(to_us(lease, "lease"), 1)
        status, error = self.stack.connection.call(lib.jobstack_renew, self.stack._name, self.number, self.attempt, us)
        judge(status, error)

    def __enter__(self):
        self.begin()
        return self

    def __exit__(self, kind, e, _traceback):
        if not self.open:
            return False  # the block has closed it
        if e is None:
            self.done()
            return False
        self.error = e
        if isinstance(e, Failed):
            self.failed(str(e), e.code, e.fatal)
        elif isinstance(e, Exception):
            self.failed("%s: %s" % (kind.__name__, e) if str(e) else kind.__name__)
        else:
            self._close(JOBSTACK_INTERRUPTED, reason=kind.__name__)
            return False
        if not self._reraise:
            log.warning("entry %d (%r) failed", self.number, self.path, exc_info=None if isinstance(e, Failed) else e)
        return not self._reraise


def _reason(text):
    line = " ".join(str(text).split()).encode("utf-8", "replace")[:200]
    return line.decode("utf-8", "ignore").encode().replace(b"\0", b"?")
