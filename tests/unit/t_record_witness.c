/* Files that were mapped without the watch having noticed. */
#include <criterion/criterion.h>

#include "bpf/mt_ring.h"
#include "record/witness.h"
#include "tests/unit/resident.h"

static struct mt_witness *witness;

static struct mt_witness_file file(uint64_t ino)
{
	return (struct mt_witness_file){ .ino = ino, .dev = 0x800001 };
}

static uint64_t unseen(void)
{
	return mt_witness_unseen(witness);
}

static void setup(void)
{
	cr_assert_eq(mt_witness_new(NULL, NULL, &witness), 0);
}

static void teardown(void)
{
	mt_witness_free(witness);
}

TestSuite(record_witness, .init = setup, .fini = teardown);

Test(record_witness, nothing)
{
	cr_assert_eq(unseen(), 0);
	mt_witness_free(NULL);
}

Test(record_witness, known_before_it_is_mapped)
{
	mt_witness_known(witness, file(1), 100);
	mt_witness_mapped(witness, 7, file(1), 100);
	mt_witness_mapped(witness, 7, file(1), 200);
	cr_assert_eq(unseen(), 0);
}

Test(record_witness, mapped_first_by_a_process_that_is_stopped)
{
	/* In the order in which two threads may say it. */
	mt_witness_mapped(witness, 7, file(1), 100);
	cr_assert_eq(unseen(), 1);
	mt_witness_stopped(witness, 7, file(1));
	mt_witness_known(witness, file(1), 150);
	cr_assert_eq(unseen(), 0);

	mt_witness_stopped(witness, 8, file(2));
	mt_witness_known(witness, file(2), 350);
	mt_witness_mapped(witness, 8, file(2), 300);
	cr_assert_eq(unseen(), 0);
}

Test(record_witness, mapped_first_by_a_process_that_ran_on)
{
	mt_witness_stopped(witness, 7, file(1));
	mt_witness_mapped(witness, 7, file(1), 100);
	mt_witness_known(witness, file(1), 150);
	mt_witness_mapped(witness, 8, file(1), 149);
	cr_assert_eq(unseen(), 1);
	mt_witness_mapped(witness, 8, file(1), 140);
	mt_witness_mapped(witness, 9, file(1), 151);
	cr_assert_eq(unseen(), 1, "a file of a process counts once");
}

Test(record_witness, never_looked_at)
{
	struct mt_witness_file other = { .ino = 1, .dev = 2 };

	mt_witness_mapped(witness, 7, file(1), 100);
	mt_witness_mapped(witness, 7, other, 100);
	cr_assert_eq(unseen(), 2);
	/* Said late, but known in time. */
	mt_witness_known(witness, other, 99);
	cr_assert_eq(unseen(), 1);
}

static bool is_generation(const void *arg, const struct mt_inode_key *key)
{
	return key->generation == *(const uint32_t *)arg && key->dev == 3;
}

Test(record_witness, known_by_another_name)
{
	uint32_t generation = 9;

	mt_witness_mapped(witness, 7, (struct mt_witness_file){ 5, 3, 9 }, 100);
	cr_assert_eq(unseen(), 1);
	mt_witness_free(witness);
	cr_assert_eq(mt_witness_new(is_generation, &generation, &witness), 0);
	mt_witness_mapped(witness, 7, (struct mt_witness_file){ 5, 3, 9 }, 100);
	mt_witness_mapped(witness, 7, (struct mt_witness_file){ 6, 3, 8 }, 100);
	cr_assert_eq(unseen(), 1);
}

Test(record_witness, known_once)
{
	mt_witness_known(witness, file(1), 100);
	mt_witness_known(witness, file(1), 300);
	mt_witness_mapped(witness, 7, file(1), 200);
	cr_assert_eq(unseen(), 0);
}

/* More than are kept: what was not seen still counts, and what was seen does not. */
Test(record_witness, many)
{
	uint32_t i;

	for (i = 1; i <= 1000000; i++) {
		mt_witness_mapped(witness, i % 32768 + 1, file(i), i);
		if (i % 2)
			mt_witness_stopped(witness, i % 32768 + 1, file(i));
	}
	cr_assert_eq(unseen(), 500000);
	mt_witness_stopped(witness, 1000000 % 32768 + 1, file(1000000));
	cr_assert_eq(unseen(), 499999);
}

Test(record_witness, memory_is_fixed)
{
	size_t before, after;
	uint32_t i;

	for (i = 1; i <= 200000; i++) {
		mt_witness_known(witness, file(i), i);
		mt_witness_mapped(witness, i % 32768 + 1, file(i + 1), i);
	}
	before = resident_bytes();
	for (; i <= 3000000; i++) {
		mt_witness_known(witness, file(i), i);
		mt_witness_mapped(witness, i % 32768 + 1, file(i + 1), i);
	}
	after = resident_bytes();
	cr_assert_leq(after, before + (1 << 20), "%zu, then %zu", before, after);
}
