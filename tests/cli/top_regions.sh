# Mapped memory in place of the heap; by whom, and what if there is none.
mt-report top --events mmap "$TESTDATA/golden/regions.mt"
mt-report top --events=mmap "$TESTDATA/golden/none.mt" | head -n 3
