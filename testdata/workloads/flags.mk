# Compiler flags of the workloads that need their own, by file name without its ending.
WORK_CFLAGS_cpp_nofp = -g -O2 -fomit-frame-pointer -std=c++17 -Wall -Wextra
WORK_CFLAGS_families = $(WORK_CFLAGS) -Wno-use-after-free
WORK_CFLAGS_births = $(WORK_CFLAGS) -D_GNU_SOURCE
WORK_CFLAGS_adopted = $(WORK_CFLAGS) -D_GNU_SOURCE
WORK_CFLAGS_remap = $(WORK_CFLAGS) -D_GNU_SOURCE
WORK_CFLAGS_placements = $(WORK_CFLAGS) -D_GNU_SOURCE
