# mt-record and mt-report. See CONTRIBUTING.md for the layout.
#
#   make [WERROR=1] [SAN=address,undefined] [V=1]
#   make check         unit and command-line tests, lints, fuzz corpora (no root needed)
#   make check-live    tests against the running kernel (root)
#   make check-vm      the same under other kernels, emulated: KERNELS="6.1 6.12" (root)
#   make install | uninstall     [DESTDIR=] [PREFIX=/usr/local]
#   make bench         what recording costs beside other tools (root)
#   make figures       how whole, fast and large reports of real programs are (root)
#   make fuzz | clean
#   make ARCH=arm64 [SYSROOT=DIR]   cross-build; DIR holds the libraries of that architecture,
#                      by default the root that scripts/run-in-vm --arch arm64 --prepare unpacks

CROSS_amd64 := x86_64-linux-gnu
CROSS_arm64 := aarch64-linux-gnu
CC ?= cc
CXX ?= c++
CLANG ?= clang
# Debian keeps bpftool in /usr/sbin, which is not on every user's PATH.
BPFTOOL ?= $(or $(shell command -v bpftool 2>/dev/null),/usr/sbin/bpftool)
PKG_CONFIG ?= pkg-config
INSTALL ?= install
PREFIX ?= /usr/local
BINDIR ?= $(PREFIX)/bin
MANDIR ?= $(PREFIX)/share/man
CFLAGS ?= -O2 -g

# Debian's names for architectures. Without a sysroot, the libraries come from multiarch packages.
ifdef ARCH
CROSS := $(or $(CROSS_$(ARCH)),$(error ARCH=$(ARCH) is not known; arm64 or amd64))
SYSROOT ?= $(wildcard $(or $(MT_VM_CACHE),$(HOME)/.cache/mt-vm)/$(ARCH)/root)
CC := $(CROSS)-gcc $(if $(SYSROOT),--sysroot=$(SYSROOT))
CXX := $(CROSS)-g++ $(if $(SYSROOT),--sysroot=$(SYSROOT))
PKG_CONFIG := PKG_CONFIG_PATH= PKG_CONFIG_SYSROOT_DIR=$(SYSROOT) \
	PKG_CONFIG_LIBDIR=$(SYSROOT)/usr/lib/$(CROSS)/pkgconfig:$(SYSROOT)/usr/share/pkgconfig pkg-config
endif

comma := ,
empty :=
VARIANT := $(subst $(empty) $(empty),-,$(strip $(ARCH) $(subst $(comma),-,$(SAN))))
VARIANT := $(or $(VARIANT),default)
O := build/$(VARIANT)
Q := $(if $(V),,@)
msg = $(if $(V),,@printf '  %-7s %s\n' $(1) $(2);)

MULTIARCH := $(shell $(CC) -print-multiarch 2>/dev/null)
MACHINE := $(firstword $(subst -, ,$(shell $(CC) -dumpmachine)))
BPF_ARCH_x86_64 := x86
BPF_ARCH_aarch64 := arm64
BPF_ARCH := $(or $(BPF_ARCH_$(MACHINE)),$(error no BPF architecture is known for '$(MACHINE)'))

MSGPACK := $(shell $(PKG_CONFIG) --exists msgpack-c && echo msgpack-c || echo msgpack)
PKGS_common := libzstd
PKGS_record := libbpf libzstd
PKGS_report := libdw libelf libzstd liblzma
LIBS_report := -liberty -lm
PKGS_tests := criterion libunwind-generic $(PKGS_report) $(MSGPACK)
pkg_libs = $(shell $(PKG_CONFIG) --libs $(1))

ALL_CFLAGS = -std=gnu11 -Wall -Wextra -Wshadow -Wvla -Wmissing-prototypes -Wformat=2 -pthread \
	$(if $(WERROR),-Werror) $(CFLAGS) \
	$(if $(SAN),-fsanitize=$(SAN) -fno-sanitize-recover=all -fno-omit-frame-pointer) \
	$(if $(LIBFUZZER),-fsanitize=fuzzer-no-link)
BPF_CFLAGS = -g -O2 -mcpu=v3 -Wall -Wextra -Wno-unused-parameter -Werror -target bpf \
	-D__TARGET_ARCH_$(BPF_ARCH) -I. $(if $(MULTIARCH),-idirafter $(SYSROOT)/usr/include/$(MULTIARCH))
INC_common := -I.
INC_record := -I. -I$(O)/skel
INC_report := -I.
INC_tests := -I.

objs = $(patsubst %.c,$(O)/%.o,$(sort $(wildcard $(1)/*.c)))
COMMON := $(call objs,common)
RECORD := $(call objs,record)
REPORT := $(call objs,report)
# The programs without their mains: what unit tests link.
RECORD_LIB := $(filter-out %/mt_record.o,$(RECORD))
REPORT_LIB := $(filter-out %/mt_report.o,$(REPORT))
# Tests of mt-report make their artifacts with these; they need nothing else of record/.
WRITER := $(O)/record/writer.o $(O)/record/frame_file.o
READER := $(filter $(O)/report/reader% $(O)/report/workers.o,$(REPORT))
MAN := $(sort $(wildcard man/*.[0-9]))

all: $(O)/mt-record $(O)/mt-report

$(O)/mt-record: $(RECORD) $(COMMON)
	$(call msg,LINK,$@)$(CC) $(ALL_CFLAGS) $^ $(LDFLAGS) $(call pkg_libs,$(PKGS_record)) -o $@
$(O)/mt-report: $(REPORT) $(COMMON)
	$(call msg,LINK,$@)$(CC) $(ALL_CFLAGS) $^ $(LDFLAGS) $(call pkg_libs,$(PKGS_report)) $(LIBS_report) -o $@

# Unit tests: tests/unit/t_<module>.c is one Criterion program each. t_record_* may link
# mt-record's modules and the reader, all others mt-report's.
UNIT := $(patsubst tests/unit/%.c,$(O)/unit/%,$(sort $(wildcard tests/unit/t_*.c)))
# These unwind their own process, on x86-64.
UNIT := $(filter-out $(if $(filter-out x86_64,$(MACHINE)), \
	%/t_cfi_oracle %/t_unwind_oracle %/t_frame_row),$(UNIT))
$(O)/unit/t_record_%: $(O)/tests/unit/t_record_%.o $(RECORD_LIB) $(READER) $(COMMON)
	@mkdir -p $(@D)
	$(call msg,LINK,$@)$(CC) $(ALL_CFLAGS) $^ $(LDFLAGS) $(call pkg_libs,criterion $(PKGS_record) $(MSGPACK)) -lm -o $@
# What these test stops real processes; they stand for the loaded programs themselves.
$(addprefix $(O)/unit/t_record_,stopped pressure attach_worker memory): LDFLAGS += -Wl,-z,muldefs
$(O)/unit/%: $(O)/tests/unit/%.o $(REPORT_LIB) $(WRITER) $(COMMON)
	@mkdir -p $(@D)
	$(call msg,LINK,$@)$(CC) $(ALL_CFLAGS) $^ $(LDFLAGS) $(call pkg_libs,$(PKGS_tests)) $(LIBS_report) \
		-lunwind-$(MACHINE) -o $@

# Other people's unwinders, and what feeds them.
ORACLE := $(filter-out %/compare_unwind.o %/check_identity.o,$(call objs,tests/oracle))
$(O)/unit/t_cfi_oracle $(O)/unit/t_unwind_oracle: $(ORACLE)
$(O)/unit/t_unwind_oracle: $(O)/tests/oracle/thrower.o
# Both sides' rows.
$(O)/unit/t_frame_row: $(O)/record/frame_row.o $(O)/record/remote_memory.o
# Compares every stack of a recording: compare_unwind FILE.
$(O)/oracle/compare_unwind: $(O)/tests/oracle/compare_unwind.o $(ORACLE) $(REPORT_LIB) $(COMMON)
	@mkdir -p $(@D)
	$(call msg,LINK,$@)$(CC) $(ALL_CFLAGS) $^ $(LDFLAGS) $(call pkg_libs,libunwind-generic $(PKGS_report)) \
		$(LIBS_report) -lunwind-$(MACHINE) -o $@
# Compares stacks of one identity: check_identity FILE.
$(O)/oracle/check_identity: $(O)/tests/oracle/check_identity.o $(REPORT_LIB) $(COMMON)
	@mkdir -p $(@D)
	$(call msg,LINK,$@)$(CC) $(ALL_CFLAGS) $^ $(LDFLAGS) $(call pkg_libs,$(PKGS_report)) $(LIBS_report) -o $@
oracle: $(O)/oracle/compare_unwind $(O)/oracle/check_identity
# libgcc_s first: libunwind brings an _Unwind_RaiseException() of its own.
$(O)/unit/t_unwind_oracle: LDFLAGS += -lstdc++ -lgcc_s

# Fuzz targets: tests/fuzz/fuzz_<entry point>.c has an LLVMFuzzerTestOneInput(). With
# tests/fuzz/replay.c it replays files; with CC=clang LIBFUZZER=1 the fuzzer drives it.
FUZZ := $(patsubst tests/fuzz/%.c,$(O)/fuzz/%,$(sort $(wildcard tests/fuzz/fuzz_*.c)))
FUZZ_DRIVER := $(if $(LIBFUZZER),-fsanitize=fuzzer,$(O)/tests/fuzz/replay.o)
$(O)/fuzz/%: $(O)/tests/fuzz/%.o $(REPORT_LIB) $(COMMON) $(if $(LIBFUZZER),,$(FUZZ_DRIVER))
	@mkdir -p $(@D)
	$(call msg,LINK,$@)$(CC) $(ALL_CFLAGS) $(filter-out $(FUZZ_DRIVER),$^) $(FUZZ_DRIVER) $(LDFLAGS) \
		$(call pkg_libs,$(PKGS_tests)) $(LIBS_report) -lunwind-$(MACHINE) -o $@

# A target of mt-record's is called fuzz_record_<entry point>, and needs no more than this of it.
$(O)/fuzz/fuzz_record_%: $(O)/tests/fuzz/fuzz_record_%.o $(O)/record/%.o $(O)/record/as_user.o $(COMMON) \
		$(if $(LIBFUZZER),,$(FUZZ_DRIVER))
	@mkdir -p $(@D)
	$(call msg,LINK,$@)$(CC) $(ALL_CFLAGS) $(filter-out $(FUZZ_DRIVER),$^) $(FUZZ_DRIVER) $(LDFLAGS) \
		$(call pkg_libs,$(PKGS_common)) -o $@

$(O)/fuzz/fuzz_record_frame_row: $(O)/record/remote_memory.o
$(O)/fuzz/fuzz_record_allocators: $(RECORD_LIB)
$(O)/fuzz/fuzz_record_allocators: LDFLAGS += $(call pkg_libs,$(PKGS_record))

# Benchmarks: tests/bench/bench_<what>.c is one program each and prints its figures.
BENCH := $(patsubst tests/bench/%.c,$(O)/bench/%,$(sort $(wildcard tests/bench/bench_*.c)))
$(O)/bench/%: $(O)/tests/bench/%.o $(REPORT_LIB) $(WRITER) $(COMMON)
	@mkdir -p $(@D)
	$(call msg,LINK,$@)$(CC) $(ALL_CFLAGS) $^ $(LDFLAGS) $(call pkg_libs,$(PKGS_report)) $(LIBS_report) -o $@

# What tests/bench/instructions.sh counts.
$(O)/bench/steps: $(O)/tests/bench/steps.o $(O)/tests/oracle/capture.o $(REPORT_LIB) $(COMMON)
	@mkdir -p $(@D)
	$(call msg,LINK,$@)$(CC) $(ALL_CFLAGS) $^ $(LDFLAGS) $(call pkg_libs,$(PKGS_report)) $(LIBS_report) -o $@
# What tests/bench/compare runs.
$(O)/bench/floor: $(O)/tests/bench/floor.o $(RECORD_LIB) $(COMMON)
	@mkdir -p $(@D)
	$(call msg,LINK,$@)$(CC) $(ALL_CFLAGS) $^ $(LDFLAGS) $(call pkg_libs,$(PKGS_record)) -o $@
$(O)/bench/pairs: $(O)/tests/bench/pairs.o
	@mkdir -p $(@D)
	$(call msg,LINK,$@)$(CC) $(ALL_CFLAGS) $^ $(LDFLAGS) -o $@
check-instructions: $(O)/bench/steps
	$(Q)tests/bench/instructions.sh $(O)/bench/steps

# The corpora of msgpack, block and reader; see testdata/README.
$(O)/fuzz-seeds: $(O)/tests/fuzz/seeds.o $(WRITER) $(COMMON)
	$(call msg,LINK,$@)$(CC) $(ALL_CFLAGS) $^ $(LDFLAGS) $(call pkg_libs,$(PKGS_common)) -o $@

$(O)/%.o: %.c $(O)/flags
	@mkdir -p $(@D)
	$(call msg,CC,$@)$(CC) $(ALL_CFLAGS) $(INC_$(firstword $(subst /, ,$*))) -include common/compat.h -MMD -MP -c $< -o $@

$(O)/tests/%.o: tests/%.cc $(O)/flags
	@mkdir -p $(@D)
	$(call msg,CXX,$@)$(CXX) -Wall -Wextra $(if $(WERROR),-Werror) $(CFLAGS) $(if $(SAN),-fsanitize=$(SAN)) -c $< -o $@

# A skeleton must be there before the first compilation; afterwards the .d files know.
$(filter-out $(WRITER),$(RECORD)): | $(O)/skel/mt_record.skel.h $(O)/skel/mt_record_old.skel.h
# Linked, if only with itself, it comes without its debug information, nine tenths of it.
$(O)/skel/%.skel.h: $(O)/bpf/%.bpf.o
	@mkdir -p $(@D)
	$(Q)$(BPFTOOL) gen object $(@:.h=.o) $<
	$(call msg,SKEL,$@)$(BPFTOOL) gen skeleton $(@:.h=.o) name $* > $@
$(O)/bpf/%.bpf.o: bpf/%.bpf.c $(O)/bpf-flags
	@mkdir -p $(@D)
	$(call msg,BPF,$@)$(CLANG) $(BPF_CFLAGS) -MMD -MP -c $< -o $@

# Rewritten only when the command line changes, so that everything is rebuilt then.
$(O)/flags: FORCE
	@mkdir -p $(@D)
	@echo '$(CC) $(ALL_CFLAGS)' | cmp -s - $@ || echo '$(CC) $(ALL_CFLAGS)' > $@
$(O)/bpf-flags: FORCE
	@mkdir -p $(@D)
	@echo '$(CLANG) $(BPF_CFLAGS)' | cmp -s - $@ || echo '$(CLANG) $(BPF_CFLAGS)' > $@

# Programs the tests record. Each has its own flags in testdata/workloads/flags.mk: whether
# there are frame pointers, debug information, inlining is what they are for.
WORK_SRC := $(sort $(wildcard testdata/workloads/*.c testdata/workloads/*.cc))
WORK_LIB_SRC := $(filter testdata/workloads/lib%,$(WORK_SRC))
WORKLOADS := $(patsubst testdata/workloads/%,$(O)/workloads/%,\
	$(basename $(filter-out $(WORK_LIB_SRC),$(WORK_SRC))) $(patsubst %.c,%.so,$(WORK_LIB_SRC)))
-include testdata/workloads/flags.mk
WORK_CFLAGS = -g -O1 -Wall -Wextra -pthread -fno-builtin -fno-optimize-sibling-calls
# Return addresses are signed, as distributions build for arm64 now.
WORK_ARCH := $(if $(filter aarch64,$(MACHINE)),-mbranch-protection=standard)
$(O)/workloads/%.so: testdata/workloads/%.c testdata/workloads/flags.mk
	@mkdir -p $(@D)
	$(call msg,CC,$@)$(CC) $(WORK_ARCH) $(or $(WORK_CFLAGS_$*),$(WORK_CFLAGS)) -shared -fPIC $< -o $@
$(O)/workloads/%: testdata/workloads/%.c testdata/workloads/flags.mk
	@mkdir -p $(@D)
	$(call msg,CC,$@)$(CC) $(WORK_ARCH) $(or $(WORK_CFLAGS_$*),$(WORK_CFLAGS)) $< -ldl -o $@
$(O)/workloads/%: testdata/workloads/%.cc testdata/workloads/flags.mk
	@mkdir -p $(@D)
	$(call msg,CXX,$@)$(CXX) $(WORK_ARCH) $(or $(WORK_CFLAGS_$*),$(WORK_CFLAGS)) $< -o $@
workloads: $(WORKLOADS)

# Rewrites the artifacts in testdata/golden; only when what they hold is to change.
$(O)/make-artifacts: $(O)/tests/golden/make_artifacts.o $(WRITER) $(COMMON)
	$(call msg,LINK,$@)$(CC) $(ALL_CFLAGS) $^ $(LDFLAGS) $(call pkg_libs,$(PKGS_common)) -o $@
golden-artifacts: $(O)/make-artifacts
	mkdir -p testdata/golden
	$(O)/make-artifacts testdata/golden

unit: $(UNIT) $(O)/make-artifacts
fuzz: $(FUZZ)
check-unit: unit
	$(Q)tests/unit/run.sh $(O)/unit
check-cli: all $(O)/make-artifacts
	$(Q)tests/cli/run.sh $(O)
check-fuzz: fuzz
	$(Q)tests/fuzz/run.sh $(O)/fuzz
lint: all
	$(Q)scripts/check-headers $(O)
	$(Q)scripts/check-layering $(O)
	$(Q)scripts/check-text
# Symbolization is measured with this, and with clang's own libraries, which have no DWARF.
$(O)/bench/library.so: tests/bench/make-library
	@mkdir -p $(@D)
	$(call msg,CXX,$@)CXX="$(CXX)" tests/bench/make-library $@
bench: $(BENCH) all workloads $(O)/bench/floor $(O)/bench/pairs $(O)/bench/library.so
	$(Q)$(O)/bench/bench_codec
	$(Q)for f in $(O)/bench/library.so /usr/lib/llvm-*/lib/libclang-cpp.so.[1-9][0-9]; do \
		[ ! -e "$$f" ] || { echo "$$f"; $(O)/bench/bench_symbolize "$$f"; } || exit 1; \
	done
	$(Q)$(O)/bench/bench_report $(O)/mt-report $(O)/bench/large.mt
	$(Q)tests/bench/compare $(O)
figures: $(O)/bench/bench_unwind all workloads
	$(Q)tests/bench/figures $(O)
check: check-unit check-cli check-fuzz lint
check-live: all workloads oracle
	$(Q)tests/live/run.sh $(O)
check-vm: all workloads
	$(Q)ARCH=$(ARCH) scripts/check-vm $(O) $(if $(ARCH),kernel)

install: all
	$(INSTALL) -d $(DESTDIR)$(BINDIR)
	$(INSTALL) -m 755 $(O)/mt-record $(O)/mt-report $(DESTDIR)$(BINDIR)
	$(Q)for m in $(MAN); do \
		d=$(DESTDIR)$(MANDIR)/man$${m##*.}; \
		$(INSTALL) -d "$$d" && $(INSTALL) -m 644 "$$m" "$$d" || exit 1; \
	done
uninstall:
	rm -f $(DESTDIR)$(BINDIR)/mt-record $(DESTDIR)$(BINDIR)/mt-report
	$(Q)for m in $(MAN); do rm -f $(DESTDIR)$(MANDIR)/man$${m##*.}/$${m##*/}; done

clean:
	rm -rf build

-include $(shell find $(O) -name '*.d' 2>/dev/null)
.PHONY: all check-instructions bench figures unit golden-artifacts fuzz workloads check check-unit check-cli check-fuzz check-live check-vm lint install uninstall clean FORCE
.DELETE_ON_ERROR:
.SECONDARY:
