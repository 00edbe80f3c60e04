# SPDX-License-Identifier: BSD-2-Clause
#
# awk -f spec.awk SERVER JOBSTACK
#
# Prints what `jobstack --spec` prints, from the outputs of `jobstack-server --spec` and `jobstack --spec --no-server`:
# the server's tables stand below the command `server`.

BEGIN { FS = "\t" }
NR == FNR { tables = tables $0 "\n"; next }
{ print }
$1 == "command" && $2 == "server" { printf "%s", tables }
