# SPDX-License-Identifier: BSD-2-Clause
#
# Runs a Perl function for each entry: jobstack-worker -s STACK --persistent -- perl -I DIR work.pl, where work.pl is
#
#     use JobstackPersistent;
#     JobstackPersistent::run(sub { my ($datapath) = @_; ... });     # bytes
#
# If the function dies, the entry fails, and the message is the reason. die {code => 75, message => 'later'} chooses the exit
# code. What the function and the programs that it starts print is the entry's output. See LANGUAGES.md.
package JobstackPersistent;
use strict;
use warnings;
use IO::Handle;

my %byte = (n => "\n", r => "\r", '\\' => '\\');

sub run {
    my ($process) = @_;
    # the answers go where standard output went; whatever is printed from now on goes to standard error
    open(my $answers, '>&', \*STDOUT) or die "dup: $!";
    open(my $requests, '<&', \*STDIN) or die "dup: $!";
    open(STDOUT, '>&', \*STDERR) or die "dup: $!";
    open(STDIN, '<', '/dev/null') or die "/dev/null: $!";
    $_->autoflush(1) for $answers, \*STDOUT, \*STDERR;
    binmode $requests;
    binmode $answers;
    local $/ = "\n";
    while (defined(my $line = <$requests>)) {
        chomp $line;
        my $path = (split / /, $line, 3)[2];
        $path =~ s/\\([nr\\])/$byte{$1}/g;
        my $answer = 'done';
        if (!eval { local $/ = "\n"; $process->($path); 1 }) {
            my ($code, $message) = ref $@ eq 'HASH' ? ($@->{code} // 1, $@->{message} // '') : (1, $@);
            $message =~ tr/\n\r/  /;
            utf8::encode($message) if utf8::is_utf8($message);
            $answer = "failed $code " . substr($message, 0, 900);
        }
        print $answers "$answer\n";
    }
}

1;
