mt-report --help
mt-report --version
for command in symbolize stat top folded dump check pack export; do
	echo "--- $command"
	mt-report "$command" --help
done
