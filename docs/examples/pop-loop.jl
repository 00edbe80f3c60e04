# SPDX-License-Identifier: BSD-2-Clause
#
# A worker in Julia (NOT TESTED): pop an entry of the stack airs-2012, work on it, close it, until nothing is ready.  See
# pop-loop.sh for what to know about that; `jobstack-worker --persistent` (docs/LANGUAGES.md) is the better choice where it
# fits.

include("process.jl") # defines process(path), which is yours
ENV["JOBSTACK_STACK"] = "airs-2012"

# The shell takes pop's answer apart, whatever the name is, and gives three things a line each; the rest belongs to the name.
const pop = raw"""job=$(jobstack pop -q) || exit; eval "$job"
printf "%s\n" "$JOBSTACK_ENTRY" "$JOBSTACK_ATTEMPT" "$JOBSTACK_DATAPATH" """

while true
    out = IOBuffer()
    answer = run(pipeline(ignorestatus(`sh -c $pop`), stdout = out))
    answer.exitcode == 1 && break    # nothing is ready
    answer.exitcode == 0 || exit(1)  # pop has said why
    entry, attempt, rest = split(String(take!(out)), '\n'; limit = 3)
    code = try
        process(rest[1:prevind(rest, end)])
        0
    catch e
        showerror(stderr, e)
        println(stderr)
        1
    end
    closed = run(ignorestatus(`jobstack close -q $entry --attempt $attempt --exit $code`))
    closed.exitcode > 1 && exit(1)   # 1: the lease was lost, somebody else has the entry
end
