% SPDX-License-Identifier: BSD-2-Clause
%
% A worker in Octave or MATLAB: pop an entry of the stack airs-2012, work on it, close it, until nothing is ready.
%
%     octave-cli -qf pop_loop.m
%     matlab -batch pop_loop             (not tested)
%
% process.m is yours, and gets the name.  See pop-loop.sh for what to know about that; `jobstack-worker --persistent`
% (docs/LANGUAGES.md) is the better choice where it fits.
1; % a script, not a function file

setenv('JOBSTACK_STACK', 'airs-2012');

% The shell takes pop's answer apart, whatever the name is, and gives three things a line each; the rest belongs to the name.
pop = ['job=$(jobstack pop -q) || exit; eval "$job"; ' ...
       'printf "%s\n" "$JOBSTACK_ENTRY" "$JOBSTACK_ATTEMPT" "$JOBSTACK_DATAPATH"'];

while true
  [status, text] = system(pop);
  if status == 1
    break                                % nothing is ready
  elseif status ~= 0
    exit(1);                             % pop has said why
  end
  ends = find(text == char(10));
  entry = text(1:ends(1) - 1);
  attempt = text(ends(1) + 1:ends(2) - 1);
  path = text(ends(2) + 1:end - 1);
  code = 0;
  try
    process(path);
  catch e
    fprintf(2, '%s\n', e.message);
    code = 1;
  end
  status = system(sprintf('jobstack close -q %s --attempt %s --exit %d', entry, attempt, code));
  if status > 1                          % 1: the lease was lost, somebody else has the entry
    exit(1);
  end
end
