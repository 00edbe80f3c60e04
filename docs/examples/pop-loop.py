#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""A worker in Python: pop an entry of the stack airs-2012, work on it, close it, until nothing is left.

The module is in PREFIX/share/jobstack/python (docs/LANGUAGES.md).  jobstack-worker is the better choice where it fits (see
pop-loop.sh); this is for programs that take long to start and then do many entries.
"""
import jobstack

from process import process  # process.py is yours; it gets a str that open() takes

for entry in jobstack.Stack("airs-2012").entries(wait=True):
    with entry:  # done at the end; what is raised in here fails it, with that as its reason
        process(entry.path)
