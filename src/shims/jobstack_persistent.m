% SPDX-License-Identifier: BSD-2-Clause
%
% Runs an Octave or MATLAB function for each entry:
%
%     jobstack-worker -s STACK --persistent -- octave-cli -qf --path DIR --eval 'jobstack_persistent(@process)'
%     jobstack-worker -s STACK --persistent -- matlab -batch "addpath DIR; jobstack_persistent(@process)"
%
% PROCESS is called with the datapath. If it raises an error, the entry fails, and the message is the reason. The identifier
% jobstack:CODE chooses the exit code (75: try again later, not counted as a failure). What it and its programs print is the
% entry's output. MATLAB only: do not print a line "done", which the worker would take for the answer. See LANGUAGES.md.
function jobstack_persistent(process)
  octave = exist('OCTAVE_VERSION', 'builtin') ~= 0;
  if octave
    more('off');
    requests = 0;
    % the answers go where standard output went, which no program inherits; what is printed goes to standard error
    answers = fopen('/dev/stdout', 'a');
    fcntl(answers, F_SETFD, 1); % FD_CLOEXEC
    dup2(stderr, stdout);
  else
    answers = 1;
    requests = fopen('/dev/stdin', 'r');
  end
  while true
    line = read_line(requests);
    if isempty(line)
      break
    end
    blanks = find(line == ' ', 2);
    path = line(blanks(2) + 1:end);
    backslash = [];
    at = 1;
    while at <= numel(path)          % a backslash and the character after it
      if path(at) == '\'
        backslash(end + 1) = at; %#ok<AGROW>
        if path(at + 1) == 'n'
          path(at + 1) = char(10);
        elseif path(at + 1) == 'r'
          path(at + 1) = char(13);
        end
        at = at + 1;
      end
      at = at + 1;
    end
    path(backslash) = [];
    if ~octave
      path = native2unicode(uint8(path), 'UTF-8'); % the encoding in which MATLAB opens files
    end
    try
      process(path);
      answer = 'done';
    catch e
      code = regexp(e.identifier, '^jobstack:(\d+)$', 'tokens', 'once');
      if isempty(code)
        code = {'1'};
      end
      answer = ['failed ' code{1} ' ' strrep(strrep(e.message, char(10), ' '), char(13), ' ')];
    end
    if octave
      fflush(stdout);
    end
    fprintf(answers, '%s\n', answer);
    if octave
      fflush(answers);
    end
  end
end

% A line without its newline; [] at the end.  By bytes, since Octave's fgetl waits for the first byte of the next line.
function line = read_line(file)
  line = '';
  while true
    c = fread(file, 1, 'uint8=>char');
    if isempty(c)
      line = [];
      return
    end
    if c == char(10)
      return
    end
    line(end + 1) = c; %#ok<AGROW>
  end
end
