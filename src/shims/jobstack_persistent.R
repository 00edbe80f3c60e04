# SPDX-License-Identifier: BSD-2-Clause
#
# Runs an R function for each entry: jobstack-worker -s STACK --persistent -- Rscript --vanilla work.R, where work.R is
#
#     source("jobstack_persistent.R")
#     jobstack_persistent(function(datapath) { ... })
#
# If the function calls stop(), the entry fails, and the message is the reason. stop(jobstack_failed("later", 75)) chooses the
# exit code. What the function prints is kept as the entry's stderr. What programs print that it starts with system() is the
# entry's stdout. The worker would take a line "done" there for the answer, so redirect programs that print such lines. See
# LANGUAGES.md.

jobstack_failed <- function(message, code = 1L)
  structure(class = c("jobstack_failed", "error", "condition"), list(message = message, call = NULL, code = code))

jobstack_persistent <- function(process) {
  requests <- file("stdin", "rb")
  sink(stderr()) # what is printed goes to standard error; only the answers go to standard output
  on.exit({ sink(); close(requests) })
  answer <- function(text) {
    force(text) # runs the function, before standard output is opened for the answer
    sink(NULL)
    cat(text, "\n", sep = "")
    flush(stdout())
    sink(stderr())
  }
  while (length(line <- readLines(requests, n = 1L, warn = FALSE)) == 1L) {
    path <- sub("^[0-9]+ [0-9]+ ", "", line, useBytes = TRUE)
    bytes <- charToRaw(path)
    if (any(at <- bytes == as.raw(0x5c))) { # a backslash and the character after it
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
