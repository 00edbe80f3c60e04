#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# needs: db
#
# Installed into any prefix, by whoever can write there: the tools find their schema and their Slurm plugin beside them, even
# when the prefix has moved; programs find the library by pkg-config and by CMake.
set -u
. "$JOBSTACK_SOURCE/tests/lib/tap.sh"
. "$JOBSTACK_SOURCE/tests/lib/jobstack.sh"
check 'cmake --install' cmake --install "$JOBSTACK_BIN" --prefix "$PWD/prefix"

cat >own.c <<'C'
#include <jobstack/jobstack.h>
#include <stdio.h>
#include <string.h>
int main(void)
{
	struct jobstack_options options = JOBSTACK_OPTIONS_INIT;
	struct jobstack_error error = JOBSTACK_ERROR_INIT;
	struct jobstack *handle;

	options.defaults_file = "no such file";
	printf("%s %d\n", jobstack_version(), jobstack_open(&handle, &options, &error) == JOBSTACK_EFILE);
	return strcmp(jobstack_version(), JOBSTACK_VERSION) != 0;
}
C
libs=$(dirname "$(find prefix -name 'libjobstack.so')")
export PKG_CONFIG_PATH=$PWD/$libs/pkgconfig
# shellcheck disable=SC2046
check 'a program, by pkg-config' cc -Wall -Werror -o own own.c $(pkg-config --cflags --libs jobstack)
is '... runs' "$(LD_LIBRARY_PATH=$libs ./own)" '0.2.0 1'
mkdir project
mv own.c project/
cat >project/CMakeLists.txt <<'C'
cmake_minimum_required(VERSION 3.18)
project(own C)
find_package(jobstack REQUIRED)
add_executable(shared own.c)
target_link_libraries(shared jobstack::jobstack_shared)
add_executable(static own.c)
target_link_libraries(static jobstack::jobstack_static)
C
CMAKE_GENERATOR=$(sed -n 's/^CMAKE_GENERATOR:INTERNAL=//p' "$JOBSTACK_BIN/CMakeCache.txt")
export CMAKE_GENERATOR
check 'a program, by CMake' sh -c 'cmake -S project -B project/build -DCMAKE_PREFIX_PATH="$PWD/prefix" && cmake --build project/build'
is '... with the shared library' "$(project/build/shared)" '0.2.0 1'
is '... and with the static one' "$(project/build/static)" '0.2.0 1'
is 'the shared library shows nothing but the API' "$(nm -D --defined-only "$libs/libjobstack.so" | awk '{ print $3 }' | grep -v '^jobstack_\|^JOBSTACK_')" ''

mv prefix moved
export PATH=$PWD/moved/bin:$PATH
schema=moved/share/jobstack/schema/jobstack.sql
cp "$schema" kept.sql
sed -i '1i THIS IS NOT SQL;' "$schema"
check 'a prefix that moved: its own schema is read' fails_with 70 jobstack init
cp kept.sql "$schema"
check '... and is good' jobstack init
module=$(find moved -name jobstack_slurm.so)
check 'the Slurm plugin is there' test -n "$module"
numbered 1 10 | jobstack push -q -s moved >/dev/null
check 'the worker runs' worker -s moved -- true
is '... and does it' "$(ledger moved)" '10 0 0 0 0 0'
numbered 1 10 | jobstack push -q -s shim >/dev/null
check 'a shim for persistent commands is there' worker -s shim --persistent -- bash -c \
	'. moved/share/jobstack/shims/jobstack-persistent.sh; process() { [[ $1 == /d/* ]]; }; jobstack_persistent process'
is '... and does it' "$(ledger shim)" '10 0 0 0 0 0'
# without the module squeue is asked; without both everything works but questions to Slurm, and that is a plain message
rm "$module"
jobstack push -q -s without /x /y >/dev/null
JOBSTACK_SLURM=module SLURM_JOB_ID=4000000 jobstack pop -s without >out 2>err
like 'without the module: a plain message' "$(cat err)" "can't find jobstack's Slurm plugin"
check '... and it works' jobstack close -s without 1 --attempt 1
SLURM_JOB_ID=4000001 jobstack pop -s without >out 2>err # another job: the failure is told for some time
like '... unless there is squeue, which is asked then' "$(cat err)" 'the end of the Slurm job 4000001 is unknown(: Slurm.*)?$'
finish
