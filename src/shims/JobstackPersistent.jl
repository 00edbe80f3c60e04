# SPDX-License-Identifier: BSD-2-Clause
#
# Runs a Julia function for each entry: jobstack-worker -s STACK --persistent -- julia work.jl, where work.jl is
#
#     include("JobstackPersistent.jl")
#     JobstackPersistent.run(datapath -> ...)
#
# If the function throws, the entry fails, and the exception is the reason. throw(JobstackPersistent.Failed("later", 75)) chooses
# the exit code. What the function prints is the entry's output. See LANGUAGES.md.
module JobstackPersistent

struct Failed <: Exception
    message::String
    code::Int
end

function run(process)
    # the answers go where standard output went; whatever is printed from now on goes to standard error
    answers, requests = stdout, stdin
    redirect_stdout(stderr)
    redirect_stdin(devnull)
    for line in eachline(requests)
        path = split(line, ' '; limit = 3)[3]
        path = replace(path, r"\\[nr\\]" => m -> m == "\\n" ? "\n" : m == "\\r" ? "\r" : "\\")
        answer = try
            process(path)
            "done"
        catch e
            e isa Failed ? "failed $(e.code) $(e.message)" : "failed 1 $(sprint(showerror, e))"
        end
        flush(stderr)
        println(answers, replace(answer, '\n' => ' '))
        flush(answers)
    end
end

end
