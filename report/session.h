/*
 * report/session.h - the processes, threads and address spaces of a recording.
 *
 * Built once from the lifecycle and mapping blocks; read-only afterwards. A process is
 * identified by its index, never by pid. An address space belongs to a
 * process from its start or exec to its exec or exit, and to CLONE_VM children as well.
 */
#ifndef MT_SESSION_H
#define MT_SESSION_H

#include "common/event.h"

struct mt_reader;
struct mt_session;

#define MT_NONE UINT32_MAX

struct mt_process {
	uint32_t pid;
	uint32_t own_pid;	/* as it knows itself, in its own pid namespace */
	uint32_t parent;	/* index, MT_NONE for a first process */
	uint64_t start;
	uint64_t end;		/* UINT64_MAX if it was alive at the end */
	bool exited;
	int32_t status;		/* if exited, as wait(2) reports it */
	const char *comm;	/* last known name of its first thread */
	const char *path;	/* last file executed, "" if none seen */
};

struct mt_thread {
	uint32_t tid;
	uint32_t process;	/* index, MT_NONE if never defined */
	const char *name;
};

/*
 * One (address space, range, from-time) at which a file is mapped executable.
 * Placements of one file share file (index for mt_session_file()). What a forked child
 * inherits is listed again for the child, from the time of the fork; so is what a CLONE_VM child
 * shares. What such a child maps is listed for the process whose address space it is, too.
 */
struct mt_placement {
	uint32_t process;
	uint32_t file;
	uint64_t start;
	uint64_t end;		/* exclusive */
	uint64_t offset;	/* file offset of start */
	uint64_t from;		/* time mapped; 0 = whole run */
	uint64_t until;		/* time unmapped, replaced or gone; UINT64_MAX if never */
};

/*
 * A distinct mapped file: (dev, ino, generation, path, since). ino 0: [vdso] or anonymous. One that
 * was rewritten where it was is another file from then on.
 */
struct mt_file {
	const char *path;
	uint32_t dev_major;
	uint32_t dev_minor;
	uint64_t ino;
	uint64_t generation;
	uint64_t since;		/* when it was rewritten, 0: what it was first */
	uint64_t mapped;	/* when first: lowest time of its mappings */
	/* As the recorder found it; noted: is that known? */
	bool noted;
	uint64_t size;
	uint64_t mtime;		/* ns since 1970 */
	uint32_t n_build_id;
	uint8_t build_id[MT_BUILD_ID_MAX];
	const char *seen_as;	/* its path where the recorder ran; NULL: the same */
	/*
	 * Anonymous executable memory came into the place of some of its code in one step, as
	 * programs do that want their code on huge pages: it counts as the code it replaced.
	 */
	bool copied;
};

/* Reads every lifecycle and mappings block. 0, -ENOMEM, -errno, -MT_E_LIMIT. */
int mt_session_load(struct mt_reader *reader, struct mt_session **ret_session);
/*
 * The same from rows in file order, which are copied. Rows that name a process or thread
 * that no row defines are left out and counted. Errors as above.
 */
int mt_session_build(const struct mt_lifecycle *lifecycle, size_t n_lifecycle,
		     const struct mt_mapping *mappings, size_t n_mappings,
		     struct mt_session **ret_session);
/*
 * Notes of mapped files, which the session's files take: one of the same device, inode,
 * generation and since, the last of several with the same path, or else the last of all. 0 or
 * -ENOMEM.
 */
int mt_session_take_notes(struct mt_session *session, const struct mt_file_note *notes, size_t n);
void mt_session_free(struct mt_session *session);

uint32_t mt_session_processes(const struct mt_session *session);
const struct mt_process *mt_session_process(const struct mt_session *session, uint32_t index);
uint32_t mt_session_threads(const struct mt_session *session);
const struct mt_thread *mt_session_thread(const struct mt_session *session, uint32_t index);
uint32_t mt_session_files(const struct mt_session *session);
const struct mt_file *mt_session_file(const struct mt_session *session, uint32_t index);
uint32_t mt_session_placements(const struct mt_session *session);
const struct mt_placement *mt_session_placement(const struct mt_session *session, uint32_t index);
/* Rows left out because they contradict the others. */
uint64_t mt_session_bad_rows(const struct mt_session *session);

/*
 * Index of the placement that holds addr in this process at this time, or MT_NONE. A forked
 * child sees its parent's placements of before the fork: the parent's index is
 * returned for what the child never changed. O(log n), whatever the history.
 */
uint32_t mt_session_find(const struct mt_session *session, uint32_t process, uint64_t time,
			 uint64_t addr);

/*
 * Address space (below mt_session_spaces(), not a process index) that this process lives in at
 * this time, MT_NONE for an unknown process; and the space a fork copied it from,
 * MT_NONE if none.
 */
uint32_t mt_session_spaces(const struct mt_session *session);
uint32_t mt_session_space(const struct mt_session *session, uint32_t process, uint64_t time);
uint32_t mt_session_space_parent(const struct mt_session *session, uint32_t space);

/* Lifecycle rows in time order, file order where equal, for those who replay events. */
uint32_t mt_session_lifecycle_rows(const struct mt_session *session);
const struct mt_lifecycle *mt_session_lifecycle(const struct mt_session *session, uint32_t row);

#endif
