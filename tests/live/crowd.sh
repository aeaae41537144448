#!/bin/bash
# Many processes at a time: all are stopped while the rings are emptied, and all go on, whatever mt-record
# may open, and when it is killed.
# shellcheck source=tests/live/lib.sh
. "$LIVE/lib.sh"

# crowd EACH IDLE STORMS PAIRS: IDLE processes wait while STORMS make PAIRS pairs each; then those that
# waited make EACH, all at once, and all end.
cat >crowd.c <<'EOF'
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
__attribute__((noinline)) static void one_pair(void)
{
	void *volatile block = malloc(33);

	free(block);
}
int main(int argc, char **argv)
{
	int each = atoi(argv[argc - 4]), idle = atoi(argv[argc - 3]), storms = atoi(argv[argc - 2]);
	int pairs = atoi(argv[argc - 1]);
	int gate[2], status, ended = 0, i, k;
	char c;

	if (pipe(gate))
		return 1;
	for (i = 0; i < idle + storms; i++) {
		pid_t pid = fork();

		if (pid < 0)
			return 2;
		if (pid)
			continue;
		close(gate[1]);
		if (i < idle && read(gate[0], &c, 1))
			_exit(1);
		for (k = 0; k < (i < idle ? each : pairs); k++)
			one_pair();
		_exit(0);
	}
	for (i = 0; i < storms; i++)
		ended += wait(&status) > 0 && status == 0;
	close(gate[1]);
	while (wait(&status) > 0)
		ended += status == 0;
	printf("%d\n", ended);
	return 0;
}
EOF
# No other test's processes have this name.
crowd=crowd$$
cc -O1 -g -o $crowd crowd.c || exit
small='--pressure-timeout inf --ring-size 64K --stack-ring-size 64K'

# Processes of the crowd that stand still.
standing()
{
	ps -eo stat=,comm= | awk -v comm=$crowd '$1 ~ /^T/ && $2 == comm' | wc -l
}

# all_stand N
all_stand()
{
	[ "$(standing)" -ge "$1" ]
}

# The limit is raised, if it may be; the command's own stays as it was. Nobody takes what is written until
# all stand still.
code=$(
	ulimit -Sn 200
	# shellcheck disable=SC2086 # a list
	mt-record $small -o - -- sh -c "./$crowd 1 300 4 40009 >out.txt" 2>err.txt |
		{ until_true 60 all_stand 301; cat >run.mt; }
	echo "${PIPESTATUS[0]}"
)
is '304 processes, 200 descriptors: nothing lost' "$code" 0
is '304 processes, 200 descriptors: all ended well' "$(cat out.txt)" 304
is '304 processes, 200 descriptors: exact' "$(folded count ';one_pair;')" $((4 * 40009 + 300))
matches '304 processes, 200 descriptors: they were stopped' err.txt 'paused [0-9]* times'
(
	ulimit -Sn 200
	# shellcheck disable=SC2016 # for the inner shell
	mt-record -q -o run.mt -- sh -c 'echo $(ulimit -Sn) $(ulimit -Hn)' >out.txt 2>err.txt
)
is 'the limit of the command is its own' "$(cat out.txt)" "200 $(ulimit -Hn)"

# It may not be raised. From some number on there is a recording, and from some more a whole one; what
# is missing is told, and all go on.
whole=0
most=$((512 + 2 * $(nproc --all)))
for limit in 64 80 84 88 92 96 104 128 192 $most; do
	code=0
	rm -f run.mt
	(
		ulimit -n "$limit"
		# shellcheck disable=SC2086 # a list
		timeout 100 mt-record $small -o run.mt -- ./$crowd 1 200 4 2003 >out.txt 2>err.txt
	) || code=$?
	case $code in
	0)
		is "$limit descriptors at most: exact" "$(folded count ';one_pair;')" $((4 * 2003 + 200))
		whole=$limit
		;;
	125)
		matches "$limit descriptors at most: said" err.txt \
			'Too many open files|Cannot allocate memory|mt-record: lost'
		[ ! -s run.mt ] || is "$limit descriptors at most: all ended well" "$(cat out.txt)" 204
		;;
	*) not_ok "$limit descriptors at most" "exit status $code" ;;
	esac
done
is "with $most descriptors it is whole" "$whole" "$most"
is 'nobody stands still' "$(standing)" 0

# More than have a table of their code, so that each call of the others defines its stack: whoever runs
# before its stop arrives does so once more.
# shellcheck disable=SC2086 # a list
timeout 200 mt-record $small -o run.mt -- ./$crowd 10 1500 0 0 >out.txt 2>err.txt
is '1500 processes at once: nothing lost' $? 0
is '1500 processes at once: all ended well' "$(cat out.txt)" 1500
is '1500 processes at once: exact' "$(folded count ';one_pair;')" 15000
matches '1500 processes at once: they were stopped' err.txt 'paused [0-9]* times'
sed -n 's/^mt-record: paused/note 1500 processes: paused/p' err.txt

# Killed while all stand still, because nobody reads the output.
rm -f out.txt
mkfifo pipe
# shellcheck disable=SC2086 # a list
mt-record -q $small -o pipe -- ./$crowd 1 500 4 40009 >out.txt 2>err.txt &
recorder=$!
exec 9<pipe
stand_still()
{
	all_stand 501 && sleep 1 && all_stand 501
}
until_true 60 stand_still
is '505 processes: they stand still' "$([ "$(standing)" -ge 501 ] && echo yes)" yes
kill -KILL "$recorder"
wait "$recorder" 2>/dev/null
until_true 60 [ -s out.txt ]
is '505 processes: all go on when the recorder is killed' "$(cat out.txt)" 504
exec 9<&-
