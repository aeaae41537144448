/*
 * tests/bench/floor.c - run a command with empty programs where mt-record would have its own.
 *
 *	floor FILE COMMAND [ARGUMENT...]	FILE is the allocator's: libc.so.6
 *
 * What probes cost that do nothing is what no recorder that uses them can be below.
 */
#include <bpf/bpf.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/error.h"
#include "record/allocator_table.h"
#include "record/allocators.h"
#include "record/attach.h"
#include "record/probe_site.h"
#include "record/uprobe_multi.h"

static int load_empty(uint32_t attach_type)
{
	static const struct bpf_insn insns[] = {
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K },
		{ .code = BPF_JMP | BPF_EXIT },
	};
	LIBBPF_OPTS(bpf_prog_load_opts, opts, .expected_attach_type = attach_type);

	return bpf_prog_load(BPF_PROG_TYPE_KPROBE, "mt_empty", "GPL", insns,
			     MT_ARRAY_SIZE(insns), &opts);
}

static int attach(const char *path, struct mt_attacher **ret_attacher)
{
	struct mt_allocator_table *table = NULL;
	struct mt_allocator_scan scan = {};
	struct mt_probe_programs programs;
	enum mt_attach_mode mode;
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	int err = fd < 0 ? -errno : mt_allocator_table_new(NULL, &table);

	if (!err)
		err = mt_allocators_scan(table, fd, NULL, &scan);
	if (!err)
		err = mt_attach_choose(MT_ATTACH_AUTO, &mode);
	if (err)
		return err;
	mt_probe_sites_choose(fd, true, scan.probes, scan.n);
	programs.alloc_fd = load_empty(mode == MT_ATTACH_PERF ? 0 : MT_BPF_TRACE_UPROBE_MULTI);
	programs.return_fd = programs.free_fd = programs.ret_site_fd = programs.alloc_fd;
	programs.leave_fd = programs.alloc_fd;
	programs.call_fd = mode == MT_ATTACH_SESSION ? load_empty(MT_BPF_TRACE_UPROBE_SESSION) :
						       programs.alloc_fd;
	err = mt_attacher_new(&programs, mode, ret_attacher);
	if (!err)
		err = mt_attacher_attach(*ret_attacher, fd, scan.probes, scan.n);
	mt_allocator_scan_release(&scan);
	mt_allocator_table_free(table);
	return err;
}

int main(int argc, char **argv)
{
	struct mt_attacher *attacher = NULL;
	int err, status = 0;
	pid_t pid;

	if (argc < 3) {
		fputs("usage: floor FILE COMMAND [ARGUMENT...]\n", stderr);
		return 64;
	}
	err = attach(argv[1], &attacher);
	if (err) {
		fprintf(stderr, "floor: %s: %s\n", argv[1], mt_strerror(err));
		return 1;
	}
	pid = fork();
	if (!pid) {
		execvp(argv[2], argv + 2);
		_exit(127);
	}
	if (pid < 0 || waitpid(pid, &status, 0) < 0)
		return 1;
	mt_attacher_free(attacher);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}
