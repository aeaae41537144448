/*
 * record/adopt.h - begin to track a process that is running, and the tree below it.
 *
 * Nobody is stopped: tracking begins before mappings are listed, so what is mapped meanwhile is
 * seen by the watch, and what was mapped before is in the list.
 */
#ifndef MT_ADOPT_H
#define MT_ADOPT_H

#include <stdint.h>

struct mt_adoption;
struct mt_attach_worker;
struct mt_decoder;
struct mt_mmap_events;
struct mt_programs;

/* Adopt pid and its descendants. -ESRCH: there is no such process; -errno. */
int mt_adopt(struct mt_programs *programs, struct mt_mmap_events *mappings, int pid,
	     struct mt_adoption **ret_adoption);
void mt_adoption_free(struct mt_adoption *adoption);

/* Probe the files that the adopted processes map. */
void mt_adoption_attach(const struct mt_adoption *adoption, struct mt_attach_worker *worker);

/*
 * Give the decoder their processes, threads and mappings, each process as of when its mappings
 * were listed. What the ring of mappings has of before that is in the lists, if it still was there.
 */
int mt_adoption_introduce(const struct mt_adoption *adoption, struct mt_decoder *decoder);

#endif
