#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Where the time of a run went: by node, by version of the program, and by hour.

    jobstack export mystack --format jsonl | python3 where-time-goes.py

For each of them: attempts, how many failed, hours in commands, and the median of the done ones in seconds.
"""
import collections
import json
import statistics
import sys


def main():
    groups = {name: collections.defaultdict(list) for name in ("node", "program", "hour")}
    for line in sys.stdin.buffer:
        attempt = json.loads(line)
        attempt["hour"] = (attempt.get("started") or "unknown")[11:13] or None
        for name, group in groups.items():
            group[attempt.get(name) or "unknown"].append(attempt)
    for name, group in groups.items():
        print("%-18s %9s %7s %9s %9s" % (name, "attempts", "failed", "hours", "median"))
        for key, attempts in sorted(group.items(), key=lambda item: -sum(a["seconds"] or 0 for a in item[1])):
            done = [a["seconds"] for a in attempts if a["outcome"] == "done" and a["seconds"] is not None]
            print("%-18s %9d %7d %9.2f %9s" % (
                key[:18], len(attempts), sum(a["outcome"] == "failed" for a in attempts),
                sum(a["seconds"] or 0 for a in attempts) / 3600,
                "%.3f" % statistics.median(done) if done else "-"))
        print()


if __name__ == "__main__":
    main()
