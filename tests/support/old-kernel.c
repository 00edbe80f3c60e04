/* SPDX-License-Identifier: BSD-2-Clause
 *
 * old-kernel COMMAND...: runs COMMAND as on Linux 4.18 (RHEL 8): a system call that came later fails with ENOSYS, in
 * COMMAND and all that it starts.  Among these are pidfd_open, close_range and clone3.  From 424 on all machines number
 * them alike.
 */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define FIRST_LATER 424 /* pidfd_send_signal, of Linux 5.1 */

int main(int argc, char *argv[])
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, FIRST_LATER, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = {sizeof(code) / sizeof(code[0]), code};

	if (argc < 2) {
		(void)fprintf(stderr, "usage: old-kernel COMMAND...\n");
		return 2;
	}
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0) {
		perror("old-kernel: seccomp");
		return 125;
	}
	if (syscall(434 /* pidfd_open */, getpid(), 0) != -1 || errno != ENOSYS) {
		(void)fprintf(stderr, "old-kernel: the filter does not work\n");
		return 125;
	}
	(void)execvp(argv[1], argv + 1);
	perror(argv[1]);
	return 127;
}
