#!/usr/bin/perl
# SPDX-License-Identifier: BSD-2-Clause
#
# A worker in Perl: pop an entry of the stack airs-2012, work on it, close it, until nothing is ready.  See pop-loop.sh for
# what to know about that; `jobstack-worker --persistent` (docs/LANGUAGES.md) is the better choice where it fits.
use strict;
use warnings;

require './process.pl'; # defines process($path), which is yours
$ENV{JOBSTACK_STACK} = 'airs-2012';

# The shell takes pop's answer apart, whatever the name is, and gives three things a line each; the rest belongs to the name.
my $pop = 'job=$(jobstack pop -q) || exit; eval "$job"; '
    . 'printf "%s\n" "$JOBSTACK_ENTRY" "$JOBSTACK_ATTEMPT" "$JOBSTACK_DATAPATH"';

while (1) {
    my $job = qx{$pop};
    last if $? >> 8 == 1;    # nothing is ready
    exit 1 if $?;            # pop has said why
    my ($entry, $attempt, $path) = $job =~ /\A(\d+)\n(\d+)\n(.*)\n\z/s or die "pop said: $job";
    my $done = eval { process($path); 1 };
    warn $@ unless $done;
    system 'jobstack', 'close', '-q', $entry, '--attempt', $attempt, '--exit', $done ? 0 : 1;
    exit 1 if $? >> 8 > 1;   # 1: the lease was lost, somebody else has the entry
}
