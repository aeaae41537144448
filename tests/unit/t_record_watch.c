/* What is missing when the kernel leaves a program out, told by the program's section and name. */
#include <criterion/criterion.h>

#include "record/watch.h"

Test(record_watch, an_allocators_call_is_an_event)
{
	cr_assert_eq(mt_watch_kind("uprobe", "probe_alloc"), MT_MISSED_EVENT);
	cr_assert_eq(mt_watch_kind("uprobe", "probe_return"), MT_MISSED_EVENT);
	cr_assert_eq(mt_watch_kind("uprobe", "probe_free"), MT_MISSED_EVENT);
}

Test(record_watch, who_does_not_wait_in_the_linker_asks_again)
{
	cr_assert_eq(mt_watch_kind("uprobe.s", "wait_in_linker"), MT_MISSED_NOTHING);
	cr_assert_eq(mt_watch_kind("uprobe.s", "wait_before_exec"), MT_MISSED_NOTHING);
}

Test(record_watch, what_mt_record_runs_itself)
{
	cr_assert_eq(mt_watch_kind("raw_tp", "identify"), MT_MISSED_NOTHING);
}

Test(record_watch, processes_that_come_and_go)
{
	cr_assert_eq(mt_watch_kind("tp_btf/sched_process_fork", "on_fork_2"), MT_MISSED_STEP);
	cr_assert_eq(mt_watch_kind("tp_btf/task_rename", "on_rename"), MT_MISSED_STEP);
}

Test(record_watch, calls_that_map_code)
{
	cr_assert_eq(mt_watch_kind("fexit/__x64_sys_mmap", "after_mmap_2"), MT_MISSED_CALL);
	cr_assert_eq(mt_watch_kind("tp/syscalls/sys_exit_mmap", "exit_mmap"), MT_MISSED_CALL);
	cr_assert_eq(mt_watch_kind("tp_btf/sys_exit", "any_exit"), MT_MISSED_CALL);
	cr_assert_eq(mt_watch_kind("fentry/security_mmap_file", "before_mmap"), MT_MISSED_NOTHING);
	cr_assert_eq(mt_watch_kind("tp_btf/sys_enter", "region_any"), MT_MISSED_NOTHING);
}
