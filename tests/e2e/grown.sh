#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# needs: db
#
# Structs that grow: the library is built again with one more member at the end of an option struct, of the elements of two
# arrays and of two output structs.  A program that was built with the header as it is runs on it; a program that was built
# with the grown header runs on the library as it is, which refuses what it does not know.
set -u
. "$JOBSTACK_SOURCE/tests/lib/tap.sh"
. "$JOBSTACK_SOURCE/tests/lib/jobstack.sh"
jobstack init -q

mkdir grown
cp -r "$JOBSTACK_SOURCE"/{CMakeLists.txt,cmake,docs,include,schema,scripts,src,README.md,CHANGELOG.md,LICENSE} grown/
grow() { # STRUCT: one more member at its end
	sed -i "/^struct $1 {/,/^};/s/^};/	uint64_t grown;\n};/" grown/include/jobstack/*.h
}
for struct in push_options push_result entry batch outcome; do grow "jobstack_$struct"; done
is 'five structs have grown' "$(diff -r "$JOBSTACK_SOURCE/include" grown/include | grep -c '^> .*grown')" 5
check 'the grown library is built' sh -c 'cmake -S grown -B grown/build -DCMAKE_BUILD_TYPE=Debug -DCMAKE_C_FLAGS_DEBUG=-g0 -DJOBSTACK_SLURM=OFF >log 2>&1 &&
	cmake --build grown/build --target jobstack_shared -j 2 >>log 2>&1 || { tail -n 30 log; exit 1; }'

cat >program.c <<'C'
#include <jobstack/jobstack.h>
#include <stdio.h>
#include <string.h>
#include <stdlib.h>

#ifdef GROWN
#define SET(object, value) ((object).grown = (value))
#else
#define SET(object, value) ((void)(value))
#endif
#define NEED(what) ((what) ? (void)0 : (printf("line %d: %s: %s\n", __LINE__, #what, error.text), exit(1)))
#define NEW_ERROR (error = (struct jobstack_error)JOBSTACK_ERROR_INIT)

/* argv: the option file, the stack, whether the library is the grown one */
int main(int argc, char **argv)
{
	struct jobstack_options options = JOBSTACK_OPTIONS_INIT;
	struct jobstack_push_options push = JOBSTACK_PUSH_OPTIONS_INIT;
	struct jobstack_error error = JOBSTACK_ERROR_INIT;
	struct jobstack_batch batch = JOBSTACK_BATCH_INIT;
	struct jobstack_outcome outcomes[3];
	struct jobstack_bytes names[3] = {{"/a", 2}, {"/bb", 3}, {"/ccc", 4}};
	struct { struct jobstack_push_result r; unsigned char behind[64]; } result;
	struct jobstack *handle;
	int grown = argc > 3 && strcmp(argv[3], "grown") == 0, refused = 0, results[3];

	(void)refused;
	options.defaults_file = argv[1];
	NEED(jobstack_open(&handle, &options, &error) == 0);
	memset(&result, 0xA5, sizeof(result));
	result.r.size = sizeof(result.r);
#ifdef GROWN
	SET(push, 1);
	refused = jobstack_push_many(handle, argv[2], &push, names, 3, NULL, &error) == JOBSTACK_EUSAGE;
	NEED(refused == !grown);
	NEED(grown || strstr(error.text, "jobstack_push_options") != NULL);
	NEW_ERROR;
	SET(push, 0);
	if (refused)
#endif
		NEED(jobstack_push_many(handle, argv[2], &push, names, 3, &result.r, &error) == 0 && result.r.pushed == 3 && result.r.bad == 0);
#ifdef GROWN
	NEED(!refused || result.r.grown == 0);
#endif
	for (size_t i = 0; i < sizeof(result.behind); i++)
		NEED(result.behind[i] == 0xA5);
	NEED(jobstack_pop(handle, argv[2], NULL, 3, &batch, &error) == 0 && batch.count == 3);
	NEED(jobstack_batch_entry(&batch, 3) == NULL);
	for (size_t i = 0; i < 3; i++) {
		const struct jobstack_entry *e = jobstack_batch_entry(&batch, i);

		NEED(e->entry == i + 1 && e->attempt == 1 && e->datapath_len == i + 2 && strcmp(e->datapath, names[i].data) == 0);
		NEED(grown ? e->size >= sizeof(*e) : e->size <= sizeof(*e));
		outcomes[i] = (struct jobstack_outcome)JOBSTACK_OUTCOME_INIT;
		outcomes[i].entry = e->entry;
		outcomes[i].attempt = e->attempt;
		outcomes[i].verdict = i == 1 ? JOBSTACK_FAILED : JOBSTACK_DONE;
		outcomes[i].exit_code = (int)i;
	}
	jobstack_batch_free(&batch);
	NEED(batch.count == 0 && jobstack_batch_entry(&batch, 0) == NULL);
#ifdef GROWN
	if (!grown) {
		SET(outcomes[1], 1);
		NEED(jobstack_close(handle, argv[2], outcomes, 3, results, &error) == JOBSTACK_EUSAGE);
		NEW_ERROR;
		SET(outcomes[1], 0);
	}
#endif
	NEED(jobstack_close(handle, argv[2], outcomes, 3, results, &error) == 0);
	NEED(results[0] == 0 && results[1] == 0 && results[2] == 0);
	jobstack_free(handle);
	return 0;
}
C
build() { # PROGRAM DIRECTORY-OF-THE-LIBRARY OPTION...
	cc -Wall -Wextra -Werror -Wno-missing-field-initializers "${@:3}" -o "$1" program.c -L "$2" -ljobstack
}
check 'a program with the header as it is' build plain "$JOBSTACK_BIN" -I "$JOBSTACK_SOURCE/include"
check 'the same with the grown one' build new grown/build -DGROWN -I grown/include
run() { # PROGRAM LIBRARY: with a stack of its own
	LD_LIBRARY_PATH=$([[ $2 == grown ]] && echo grown/build || echo "$JOBSTACK_BIN") timeout 300 "./$1" "$JOBSTACK_DEFAULTS_FILE" "$1-$2" "$2"
}
for library in as-it-is grown; do
	for program in plain new; do
		check "the $program program on the library $library" run $program $library
		is '... one failed, the others are done' "$(sql "SELECT GROUP_CONCAT(outcome,' ',exit_code ORDER BY entry_id) FROM attempt JOIN stack USING(stack_id)
			WHERE name='$program-$library'")" '0 0,1 1,0 2'
		check '... its audit' audit "$program-$library"
	done
done
finish
