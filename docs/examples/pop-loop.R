#!/usr/bin/env Rscript
# SPDX-License-Identifier: BSD-2-Clause
#
# A worker in R: pop an entry of the stack airs-2012, work on it, close it, until nothing is ready.  See pop-loop.sh for what
# to know about that; `jobstack-worker --persistent` (docs/LANGUAGES.md) is the better choice where it fits.

source("process.R") # defines process(path), which is yours
Sys.setenv(JOBSTACK_STACK = "airs-2012")

# The shell takes pop's answer apart, whatever the name is, and gives three things a line each; the rest belongs to the name.
pop <- paste('job=$(jobstack pop -q) || exit; eval "$job"',
             'printf "%s\\n" "$JOBSTACK_ENTRY" "$JOBSTACK_ATTEMPT" "$JOBSTACK_DATAPATH"', sep = "; ")

repeat {
  job <- suppressWarnings(system(pop, intern = TRUE))
  status <- attr(job, "status")
  if (!is.null(status)) quit(status = if (status == 1) 0 else 1) # 1: nothing is ready; else pop has said why
  path <- paste(job[-(1:2)], collapse = "\n")
  code <- tryCatch({ process(path); 0 }, error = function(e) { message(conditionMessage(e)); 1 })
  # close ends with 1 if the lease was lost: somebody else has the entry
  if (system(paste("jobstack close -q", job[1], "--attempt", job[2], "--exit", code)) > 1) quit(status = 1)
}
