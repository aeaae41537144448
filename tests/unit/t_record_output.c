#include "record/output.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <sys/stat.h>
#include <unistd.h>

#include "record/as_user.h"
#include "record/target.h"

static const struct mt_identity as_we_are;
static const struct mt_identity nobody = {
	.change = true, .uid = 65534, .gid = 65534, .name = "nobody",
};
static char dir[] = "/tmp/t_record_output.XXXXXX";
static char path[64], other[64];

static void setup(void)
{
	cr_assert_not_null(mkdtemp(dir));
	cr_assert_eq(chmod(dir, 0777), 0);
	snprintf(path, sizeof(path), "%s/run.mt", dir);
	snprintf(other, sizeof(other), "%s/other", dir);
}

static void teardown(void)
{
	unlink(path);
	unlink(other);
	rmdir(dir);
}

static void put(const char *name, const char *text)
{
	int fd = open(name, O_CREAT | O_WRONLY | O_TRUNC | O_CLOEXEC, 0644);

	cr_assert_geq(fd, 0);
	cr_assert_eq(write(fd, text, strlen(text)), (ssize_t)strlen(text));
	close(fd);
}

static void expect_holds(const char *name, const char *text)
{
	char bytes[64] = "";
	int fd = open(name, O_RDONLY | O_CLOEXEC);

	cr_assert_geq(fd, 0);
	cr_expect_eq(read(fd, bytes, sizeof(bytes) - 1), (ssize_t)strlen(text));
	cr_expect_str_eq(bytes, text);
	close(fd);
}

static int open_output(const char *name, const struct mt_identity *identity, bool *ret_created)
{
	int fd;

	*ret_created = false;
	fd = mt_output_open(name, identity, ret_created);
	if (fd >= 0)
		cr_expect_eq(fcntl(fd, F_GETFD), FD_CLOEXEC);
	return fd;
}

Test(output, makes_a_new_file, .init = setup, .fini = teardown)
{
	bool created;
	int fd = open_output(path, &as_we_are, &created);

	cr_assert_geq(fd, 0);
	cr_expect(created);
	cr_expect_eq(write(fd, "new", 3), 3);
	close(fd);
	expect_holds(path, "new");
}

/* If the recording cannot be started, the one before it is still there. */
Test(output, leaves_what_is_in_an_existing_file, .init = setup, .fini = teardown)
{
	bool created;
	int fd;

	put(path, "the last recording");
	fd = open_output(path, &as_we_are, &created);
	cr_assert_geq(fd, 0);
	cr_expect_not(created);
	expect_holds(path, "the last recording");
	cr_assert_eq(ftruncate(fd, 0), 0);
	cr_expect_eq(write(fd, "new", 3), 3);
	close(fd);
	expect_holds(path, "new");
}

Test(output, says_why_it_cannot_be_opened, .init = setup, .fini = teardown)
{
	char missing[80];
	bool created;

	snprintf(missing, sizeof(missing), "%s/missing/run.mt", dir);
	cr_expect_eq(open_output(dir, &as_we_are, &created), -EISDIR);
	cr_expect_eq(open_output(missing, &as_we_are, &created), -ENOENT);
	cr_expect_not(created);
}

Test(output, as_we_are_a_symbolic_link_is_followed, .init = setup, .fini = teardown)
{
	bool created;
	int fd;

	put(other, "target");
	cr_assert_eq(symlink(other, path), 0);
	fd = open_output(path, &as_we_are, &created);
	cr_assert_geq(fd, 0);
	cr_expect_not(created);
	cr_expect_eq(write(fd, "TAR", 3), 3);
	close(fd);
	expect_holds(other, "TARget");
}

Test(output, standard_output_unless_it_is_a_terminal)
{
	int saved = dup(STDOUT_FILENO), pipe_fds[2], fd, terminal;
	char byte = 0;
	bool created;

	cr_assert_geq(saved, 0);
	cr_assert_eq(pipe(pipe_fds), 0);
	terminal = posix_openpt(O_RDWR | O_NOCTTY);
	cr_assert_geq(terminal, 0);

	cr_assert_eq(dup2(pipe_fds[1], STDOUT_FILENO), STDOUT_FILENO);
	created = true;
	fd = mt_output_open("-", &as_we_are, &created);
	cr_expect_not(created);
	cr_expect_gt(fd, STDERR_FILENO);
	cr_expect_eq(fcntl(fd, F_GETFD), FD_CLOEXEC);
	cr_expect_eq(write(fd, "x", 1), 1);
	cr_expect_eq(read(pipe_fds[0], &byte, 1), 1);
	cr_expect_eq(byte, 'x');
	close(fd);

	cr_assert_eq(dup2(terminal, STDOUT_FILENO), STDOUT_FILENO);
	fd = mt_output_open("-", &as_we_are, &created);
	cr_assert_eq(dup2(saved, STDOUT_FILENO), STDOUT_FILENO);
	cr_expect_eq(fd, -ENOTTY);
}

/* What another user's directory holds must not lead root to a file of somebody else. */
Test(output, acts_with_the_rights_of_the_user, .init = setup, .fini = teardown)
{
	gid_t before[] = { 0, 4, 20 }, after[8];
	struct stat st;
	bool created;
	int fd;

	if (geteuid() != 0)
		cr_skip_test("only root can act for another user");
	cr_assert_eq(setgroups(MT_ARRAY_SIZE(before), before), 0);

	fd = open_output(path, &nobody, &created);
	cr_assert_geq(fd, 0, "%s", strerror(-fd));
	cr_expect(created);
	cr_assert_eq(fstat(fd, &st), 0);
	cr_expect_eq(st.st_uid, 65534);
	cr_expect_eq(st.st_gid, 65534);
	close(fd);
	cr_assert_eq(unlink(path), 0);

	put(other, "root's");
	cr_expect_eq(open_output(other, &nobody, &created), -EACCES);
	/* Not even to a file that it may write. */
	cr_assert_eq(chmod(other, 0666), 0);
	cr_assert_eq(symlink(other, path), 0);
	cr_expect_eq(open_output(path, &nobody, &created), -ELOOP);
	expect_holds(other, "root's");

	cr_expect_eq(geteuid(), 0);
	cr_expect_eq(getegid(), 0);
	cr_assert_eq(getgroups(MT_ARRAY_SIZE(after), after), MT_ARRAY_SIZE(before));
	cr_expect_arr_eq(after, before, sizeof(before));
}

static int record_something(const struct mt_identity *identity)
{
	bool created;
	int fd = open_output(path, identity, &created);

	cr_assert_geq(fd, 0);
	cr_assert_eq(write(fd, "an artifact", 11), 11);
	return fd;
}

Test(output, a_file_that_was_removed_is_written_again, .init = setup, .fini = teardown)
{
	int fd = record_something(&as_we_are);

	cr_expect_eq(mt_output_restore(fd, path, &as_we_are), 0);
	cr_assert_eq(unlink(path), 0);
	cr_expect_eq(mt_output_restore(fd, path, &as_we_are), 1);
	expect_holds(path, "an artifact");
	close(fd);
}

Test(output, a_removed_file_is_written_again_as_the_user, .init = setup, .fini = teardown)
{
	struct stat st;
	int fd;

	if (geteuid() != 0)
		cr_skip_test("only root can act for another user");
	fd = record_something(&nobody);
	cr_assert_eq(unlink(path), 0);
	cr_expect_eq(mt_output_restore(fd, path, &nobody), 1);
	expect_holds(path, "an artifact");
	cr_assert_eq(stat(path, &st), 0);
	cr_expect_eq(st.st_uid, 65534);

	cr_assert_eq(unlink(path), 0);
	cr_assert_eq(chmod(dir, 0755), 0);
	cr_expect_eq(mt_output_restore(fd, path, &nobody), -EACCES);
	close(fd);
}

Test(output, what_took_the_removed_files_place_stays, .init = setup, .fini = teardown)
{
	int fd = record_something(&as_we_are);

	cr_assert_eq(unlink(path), 0);
	put(path, "of somebody else");
	cr_expect_eq(mt_output_restore(fd, path, &as_we_are), -EEXIST);
	expect_holds(path, "of somebody else");
	close(fd);
}

Test(output, a_pipe_is_never_restored, .init = setup, .fini = teardown)
{
	int fds[2];

	cr_assert_eq(pipe(fds), 0);
	cr_expect_eq(mt_output_restore(fds[1], path, &as_we_are), 0);
	cr_expect_eq(access(path, F_OK), -1);
	cr_expect_eq(mt_output_restore(-1, path, &as_we_are), -EBADF);
}

Test(output, one_recorder_at_a_time, .init = setup, .fini = teardown)
{
	bool created, second;
	int fd = open_output(path, &as_we_are, &created), other_fd;

	cr_assert_geq(fd, 0);
	cr_expect(created);
	cr_expect_eq(open_output(path, &as_we_are, &second), -EBUSY);
	cr_expect_not(second, "it would remove what it has not made");
	close(fd);
	other_fd = open_output(path, &as_we_are, &second);
	cr_expect_geq(other_fd, 0);
	close(other_fd);

	/* What is no regular file can be shared. */
	fd = open_output("/dev/null", &as_we_are, &created);
	other_fd = open_output("/dev/null", &as_we_are, &second);
	cr_expect_geq(fd, 0);
	cr_expect_geq(other_fd, 0);
	close(fd);
	close(other_fd);
}

Test(output, removes_what_it_made, .init = setup, .fini = teardown)
{
	bool created;
	int fd = open_output(path, &as_we_are, &created);

	cr_assert_geq(fd, 0);
	mt_remove_as_user(&as_we_are, fd, path);
	cr_expect_eq(access(path, F_OK), -1);
	close(fd);
}

Test(output, removes_no_other_file, .init = setup, .fini = teardown)
{
	bool created;
	int fd = open_output(path, &as_we_are, &created);

	cr_assert_geq(fd, 0);
	unlink(path);
	put(path, "somebody's");
	mt_remove_as_user(&as_we_are, fd, path);
	expect_holds(path, "somebody's");
	close(fd);
}

/* Whoever moves the folder to where we could remove files, and the user could not. */
Test(output, removes_only_as_the_user, .init = setup, .fini = teardown)
{
	bool created;
	int fd;

	fd = open_output(path, &nobody, &created);
	cr_assert_geq(fd, 0);
	cr_assert_eq(chmod(dir, 0755), 0);
	mt_remove_as_user(&nobody, fd, path);
	cr_expect_eq(access(path, F_OK), 0);
	close(fd);
}

Test(output, not_with_standard_error)
{
	int out = dup(STDOUT_FILENO), err = dup(STDERR_FILENO), pipe_fds[2], fd;
	bool created;

	cr_assert_eq(pipe(pipe_fds), 0);
	dup2(pipe_fds[1], STDOUT_FILENO);
	dup2(pipe_fds[1], STDERR_FILENO);
	fd = mt_output_open("-", &as_we_are, &created);
	dup2(out, STDOUT_FILENO);
	dup2(err, STDERR_FILENO);
	cr_expect_eq(fd, -ENOTUNIQ);
}
