/* record/rewrites: files that are overwritten where they are. */
#include "record/rewrites.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <time.h>
#include <unistd.h>

#include "record/clock.h"
#include "record/elf_image.h"

#define A_MINUTE 60000000000u

static struct mt_rewrites *rewrites;
static char dir[] = "/tmp/t_record_rewrites.XXXXXX";
static char path[64];

/* The last that was told, and how many. */
static struct mt_file_note told;
static uint8_t told_id[MT_BUILD_ID_MAX];
static char told_path[64];
static unsigned int n_told;

static void tell(void *arg, const struct mt_file_note *note)
{
	(void)arg;
	told = *note;
	memcpy(told_id, note->build_id, note->n_build_id);
	snprintf(told_path, sizeof(told_path), "%s", note->path);
	n_told++;
}

static void look(void)
{
	n_told = 0;
	mt_rewrites_ask(rewrites);
	cr_assert(mt_rewrites_wait(rewrites, A_MINUTE));
	mt_rewrites_take(rewrites, tell, NULL);
}

/* A file with an ELF header and, unless byte is 0, a build-id of 20 such bytes, far inside. */
static void write_file(const char *name, uint8_t byte, size_t size)
{
	struct {
		Elf64_Nhdr header;
		char name[4];
		uint8_t id[20];
	} note = { { 4, 20, NT_GNU_BUILD_ID }, "GNU", { 0 } };
	Elf64_Ehdr ehdr = {
		.e_ident = { 0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT },
		.e_type = ET_DYN, .e_machine = EM_X86_64, .e_version = EV_CURRENT,
		.e_phoff = sizeof(ehdr), .e_ehsize = sizeof(ehdr),
		.e_phentsize = sizeof(Elf64_Phdr), .e_phnum = 1,
	};
	Elf64_Phdr phdr = {
		.p_type = PT_NOTE, .p_offset = 200000, .p_filesz = sizeof(note), .p_align = 4,
	};
	int fd = open(name, O_WRONLY | O_CREAT | O_TRUNC, 0600);

	cr_assert_geq(fd, 0);
	memset(note.id, byte, sizeof(note.id));
	cr_assert_eq(write(fd, &ehdr, sizeof(ehdr)), (ssize_t)sizeof(ehdr));
	cr_assert_eq(write(fd, &phdr, sizeof(phdr)), (ssize_t)sizeof(phdr));
	if (byte)
		cr_assert_eq(pwrite(fd, &note, sizeof(note), 200000), (ssize_t)sizeof(note));
	cr_assert_eq(ftruncate(fd, (off_t)size), 0);
	close(fd);
}

static void watch(void)
{
	uint8_t id[20];
	struct mt_file_note note = {
		.dev_major = 8, .ino = 77, .generation = 3, .build_id = id, .n_build_id = 20,
		.path = path,
	};
	struct stat st;

	memset(id, 1, sizeof(id));
	cr_assert_eq(stat(path, &st), 0);
	note.size = st.st_size;
	note.mtime = st.st_mtim.tv_sec * 1000000000ull + st.st_mtim.tv_nsec;
	cr_assert_eq(mt_rewrites_watch(rewrites, &note, &st), 0);
}

static void setup(void)
{
	cr_assert_eq(mt_rewrites_new(&rewrites), 0);
	cr_assert_eq(mt_rewrites_start(rewrites), 0);
	cr_assert_not_null(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/file", dir);
	write_file(path, 1, 300000);
	watch();
}

static void teardown(void)
{
	mt_rewrites_free(rewrites);
	unlink(path);
	rmdir(dir);
}

TestSuite(rewrites, .init = setup, .fini = teardown);

Test(rewrites, what_stays_is_not_told)
{
	look();
	cr_expect_eq(n_told, 0);
	/* Written again, but the same file. */
	write_file(path, 1, 300001);
	look();
	cr_expect_eq(n_told, 0);
	cr_assert_eq(unlink(path), 0);
	look();
	cr_expect_eq(n_told, 0);
}

Test(rewrites, another_build_id_is_told_once_with_the_time)
{
	static const struct timespec pause = { .tv_nsec = 50 * 1000000 };
	uint64_t before, after;

	nanosleep(&pause, NULL);
	before = mt_now();
	nanosleep(&pause, NULL);
	write_file(path, 2, 300001);
	nanosleep(&pause, NULL);
	after = mt_now();
	look();
	cr_assert_eq(n_told, 1);
	cr_expect_gt(told.since, before);
	cr_expect_lt(told.since, after);
	cr_expect_eq(told.dev_major, 8);
	cr_expect_eq(told.ino, 77);
	cr_expect_eq(told.generation, 3);
	cr_expect_eq(told.size, 300001);
	cr_expect_eq(told.n_build_id, 20);
	cr_expect_eq(told_id[19], 2);
	cr_expect_str_eq(told_path, path);
	look();
	cr_expect_eq(n_told, 0);
	/* To nothing that is known, and from there. */
	write_file(path, 0, 10);
	look();
	cr_assert_eq(n_told, 1);
	cr_expect_eq(told.n_build_id, 0);
	write_file(path, 1, 300002);
	look();
	cr_assert_eq(n_told, 1);
	cr_expect_eq(told_id[0], 1);
}

Test(rewrites, a_file_that_takes_its_name_is_another_one)
{
	char other[80];

	snprintf(other, sizeof(other), "%s.new", path);
	write_file(other, 2, 300001);
	cr_assert_eq(rename(other, path), 0);
	look();
	cr_expect_eq(n_told, 0);
}

Test(rewrites, every_file_has_its_turn)
{
	unsigned int i, n = 0;

	for (i = 0; i < MT_REWRITES_A_LOOK; i++)
		watch();
	write_file(path, 2, 300001);
	for (i = 0; i < 2; i++) {
		look();
		n += n_told;
	}
	cr_expect_eq(n, MT_REWRITES_A_LOOK + 1);
}
