# mt-record and mt-report. See CONTRIBUTING.md for the layout.
#
#   make [WERROR=1] [SAN=address,undefined] [V=1]
#   make check | check-live | install | uninstall | clean      [DESTDIR= PREFIX=/usr/local]

CC ?= cc
CLANG ?= clang
BPFTOOL ?= bpftool
PKG_CONFIG ?= pkg-config
PREFIX ?= /usr/local
CFLAGS ?= -O2 -g

comma := ,
VARIANT := $(if $(SAN),$(subst $(comma),-,$(SAN)),default)
O := build/$(VARIANT)
Q := $(if $(V),,@)
msg = $(if $(V),,@printf '  %-7s %s\n' $(1) $(2);)

MSGPACK := $(shell $(PKG_CONFIG) --exists msgpack-c && echo msgpack-c || echo msgpack)
PKGS_common := libzstd
PKGS_record := libbpf libzstd
PKGS_report := libdw libelf libzstd
LIBS_report := -liberty
PKGS_tests := criterion libunwind-generic $(PKGS_report) $(MSGPACK)

ALL_CFLAGS = -std=gnu11 -Wall -Wextra -Wshadow -Wvla -Wmissing-prototypes -Wformat=2 -pthread \
	$(if $(WERROR),-Werror) $(CFLAGS) \
	$(if $(SAN),-fsanitize=$(SAN) -fno-sanitize-recover=all -fno-omit-frame-pointer)
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

all: $(O)/mt-record $(O)/mt-report

$(O)/mt-record: $(RECORD) $(COMMON)
	$(call msg,LINK,$@)$(CC) $(ALL_CFLAGS) $^ $(LDFLAGS) $(shell $(PKG_CONFIG) --libs $(PKGS_record)) -o $@
$(O)/mt-report: $(REPORT) $(COMMON)
	$(call msg,LINK,$@)$(CC) $(ALL_CFLAGS) $^ $(LDFLAGS) $(shell $(PKG_CONFIG) --libs $(PKGS_report)) $(LIBS_report) -o $@

# Unit tests: tests/unit/t_<module>.c is one Criterion program each. t_record_* may link
# mt-record's modules, all others mt-report's.
UNIT := $(patsubst tests/unit/%.c,$(O)/unit/%,$(sort $(wildcard tests/unit/t_*.c)))
$(O)/unit/t_record_%: $(O)/tests/unit/t_record_%.o $(RECORD_LIB) $(COMMON)
	@mkdir -p $(@D)
	$(call msg,LINK,$@)$(CC) $(ALL_CFLAGS) $^ $(LDFLAGS) $(shell $(PKG_CONFIG) --libs criterion $(PKGS_record) $(MSGPACK)) -o $@
$(O)/unit/%: $(O)/tests/unit/%.o $(REPORT_LIB) $(COMMON)
	@mkdir -p $(@D)
	$(call msg,LINK,$@)$(CC) $(ALL_CFLAGS) $^ $(LDFLAGS) $(shell $(PKG_CONFIG) --libs $(PKGS_tests)) $(LIBS_report) -lunwind-x86_64 -o $@

$(O)/%.o: %.c $(O)/flags
	@mkdir -p $(@D)
	$(call msg,CC,$@)$(CC) $(ALL_CFLAGS) $(INC_$(firstword $(subst /, ,$*))) -include common/compat.h -MMD -MP -c $< -o $@

$(RECORD): | $(O)/skel/mt_record.skel.h
$(O)/skel/%.skel.h: $(O)/bpf/%.bpf.o
	@mkdir -p $(@D)
	$(call msg,SKEL,$@)$(BPFTOOL) gen skeleton $< name $* > $@
$(O)/bpf/%.bpf.o: bpf/%.bpf.c $(O)/flags
	@mkdir -p $(@D)
	$(call msg,BPF,$@)$(CLANG) -g -O2 -Wall -Wextra -Wno-unused-parameter -Werror -target bpf -D__TARGET_ARCH_x86 -I. \
		-idirafter /usr/include/$(shell $(CC) -print-multiarch) -MMD -MP -c $< -o $@

$(O)/flags: FORCE
	@mkdir -p $(@D)
	@echo '$(CC) $(ALL_CFLAGS)' | cmp -s - $@ || echo '$(CC) $(ALL_CFLAGS)' > $@

unit: $(UNIT)
check-unit: unit
	@for t in $(UNIT); do $$t || exit 1; done

clean:
	rm -rf build

-include $(shell find $(O) -name '*.d' 2>/dev/null)
.PHONY: all unit check-unit clean FORCE
.DELETE_ON_ERROR:
.SECONDARY:
