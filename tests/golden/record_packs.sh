#!/bin/bash
# Record one program under kernels of both architectures and pack the recordings into
# testdata/golden: real artifacts, to be read on any machine.
#
#   tests/golden/record_packs.sh [ARCH-LINUX...]	default: arm64-6.1 arm64-6.12 amd64-6.12
#
# Needs root and scripts/run-in-vm. Packs differ from run to run by their addresses and
# times; what tests/cli/packs.sh expects of them does not, nor do totals and call paths.
set -eu
cd "$(dirname "$0")/../.."
[ $# -gt 0 ] || set -- arm64-6.1 arm64-6.12 amd64-6.12
out=$PWD/testdata/golden

for machine; do
	arch=${machine%%-*}
	linux=${machine#*-}
	scripts/run-in-vm --arch "$arch" --linux "$linux" --prepare >/dev/null
	# With nothing of this machine's folders in the line tables.
	rm -f "build/$arch/workloads/malloc_10007"
	make -s ARCH="$arch" WERROR=1 SYSROOT="$([ "$arch" = "$(dpkg --print-architecture)" ] ||
		scripts/run-in-vm --arch "$arch" --prepare 2>/dev/null | sed -n 's/^ROOT=//p')" \
		WORK_CFLAGS_malloc_10007="-ffile-prefix-map=$PWD=. -g -O1 -pthread -fno-builtin \
			-fno-optimize-sibling-calls" \
		all "build/$arch/workloads/malloc_10007"
	# shellcheck disable=SC2016 # the inner shell expands these
	scripts/run-in-vm --arch "$arch" --linux "$linux" -- sh -euc '
		mkdir -p /opt/mt
		cp "$1/mt-record" "$1/mt-report" "$1/workloads/malloc_10007" /opt/mt
		cd /opt/mt
		# Not with the whole debug information of libc, where that is installed.
		[ ! -d /usr/lib/debug ] || mount -t tmpfs tmpfs /usr/lib/debug
		./mt-record -q -o run.mt -- ./malloc_10007
		./mt-report pack run.mt -o "$2"' \
		sh "$PWD/build/$arch" "$out/$machine.mtp"
	rm -f "build/$arch/workloads/malloc_10007"
	ls -l "$out/$machine.mtp"
done
