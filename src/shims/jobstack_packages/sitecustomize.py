# SPDX-License-Identifier: BSD-2-Clause
#
# Tells jobstack-worker, with --packages, which modules a command imports, as they are imported.  For Python 2.7 and 3.
# Promises: the sitecustomize that would have run without this one runs; nothing that fails here reaches the program; no
# file descriptor stays open.
import posix
import sys

_here = __file__.rpartition("/")[0]


def _begin():
    name, attempt = posix.environ.get(b"JOBSTACK_ENTRY"), posix.environ.get(b"JOBSTACK_ATTEMPT")
    if name is None or attempt is None:
        return
    head = name + b"." + attempt + b"\t"
    fifo = _here + "/fifo"
    # O_RDWR: a FIFO with a reader, this process, raises no SIGPIPE
    flags = posix.O_RDWR | posix.O_NONBLOCK | getattr(posix, "O_CLOEXEC", 0x80000)
    seen = set()

    def tell(words):
        lines = b"".join([head + (w if isinstance(w, bytes) else w.encode("utf-8", "surrogateescape")) + b"\n" for w in words])
        if len(lines) <= 4096:  # PIPE_BUF: all of it, or nothing
            fd = posix.open(fifo, flags)
            try:
                posix.write(fd, lines)
            finally:
                posix.close(fd)

    class Finder(object):
        kept = sys.modules.get(__name__)  # Python 2 clears the names of a module that nothing refers to

        def note(self, name):
            try:
                name = name.partition(".")[0]
                if name not in seen:
                    seen.add(name)
                    tell([name])
            except Exception:
                pass

        def find_spec(self, name, path=None, target=None):
            self.note(name)

        def find_module(self, name, path=None):
            self.note(name)

    # where packages may be: one line each
    for place in [p for p in sys.path if p[:1] == "/" and p != _here][:24]:
        try:
            at = posix.stat(place)
            tell(["%s\t%d.%d" % (place, at.st_dev, at.st_ino)])
        except Exception:
            pass
    sys.meta_path.insert(0, Finder())


def _chain():
    """Runs the sitecustomize that comes after this one, if there is one; its exceptions are its own."""
    own = sys.modules.pop("sitecustomize", None)
    sys.path[:] = [p for p in sys.path if p != _here]
    try:
        import sitecustomize  # noqa: F401
    except ImportError as error:
        if "sitecustomize" not in str(error):
            raise
    finally:
        if own is not None:
            sys.modules.setdefault("sitecustomize", own)


try:
    _begin()
except Exception:
    pass
_chain()
