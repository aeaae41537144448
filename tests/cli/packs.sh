# Recordings made under kernels of two architectures, whichever this one is: what they hold,
# every frame with its name and line, and a profile folder.
for pack in arm64-6.1 arm64-6.12 amd64-6.12; do
	echo "== $pack"
	mt-report stat "$TESTDATA/golden/$pack.mtp" | grep -vE '^(Recorded|Machine) |build-id'
	mt-report folded --by count "$TESTDATA/golden/$pack.mtp"
	mt-report top "$TESTDATA/golden/$pack.mtp" | sed -n '/^Call stacks/,$p'
	mt-report symbolize -o "$pack.profile" "$TESTDATA/golden/$pack.mtp" >/dev/null
	echo "profile folder: $(find "$pack.profile" -type f | wc -l) files"
done
