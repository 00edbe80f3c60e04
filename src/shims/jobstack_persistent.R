# SPDX-License-Identifier: BSD-2-Clause
#
# Entries for an R function: jobstack-worker -s STACK --persistent -- Rscript --vanilla work.R, where work.R is
#
#     source("jobstack_persistent.R")
#     jobstack_persistent(function(datapath) { ... })
#
# What the function stops with fails the entry, with that as its reason; stop(jobstack_failed("later", 75)) chooses the code.
# What it prints is kept as the entry's stderr.  What programs print that it starts (system) is the entry's stdout: a line
# "done" in there would be taken for the answer, so send what prints such lines elsewhere.  See PERSISTENT.md.

jobstack_failed <- function(message, code = 1L)
  structure(class = c("jobstack_failed", "error", "condition"), list(message = message, call = NULL, code = code))

jobstack_persistent <- function(process) {
  requests <- file("stdin", "rb")
  sink(stderr()) # what is printed goes to standard error; the answers go around that
  on.exit({ sink(); close(requests) })
  answer <- function(text) {
    force(text) # the work is done in there: before what it prints is let through
    sink(NULL)
    cat(text, "\n", sep = "")
    flush(stdout())
    sink(stderr())
  }
  while (length(line <- readLines(requests, n = 1L, warn = FALSE)) == 1L) {
    path <- sub("^[0-9]+ [0-9]+ ", "", line, useBytes = TRUE)
    bytes <- charToRaw(path)
    if (any(at <- bytes == as.raw(0x5c))) { # a backslash, and what stands behind it
      at <- which(at)
      first <- integer(0)
      last <- -1L
      for (i in at) if (i != last + 1L) { first <- c(first, i); last <- i } else last <- -1L
      code <- bytes[first + 1L]
      code[code == charToRaw("n")] <- as.raw(0x0a)
      code[code == charToRaw("r")] <- as.raw(0x0d)
      bytes[first + 1L] <- code
      path <- rawToChar(bytes[-first])
    }
    answer(tryCatch({
      process(path)
      "done"
    }, error = function(e) {
      message <- gsub("[\r\n]", " ", iconv(conditionMessage(e), "", "UTF-8", sub = "?"))
      paste0("failed ", if (inherits(e, "jobstack_failed")) e$code else 1L, " ", substr(message, 1, 200))
    }))
  }
}
