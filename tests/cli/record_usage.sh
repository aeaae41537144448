# What mt-record says of command lines, without privileges or a kernel's help.
mt-record --version
mt-record --help
try()
{
	mt-record "$@"
	echo "$? from: mt-record $*"
}
try
try -q
try --stak-size 8192 -- true
try --stack-size 65529 -- true
try --stack-size=-1 -- true
try --stack-size= -- true
try --stack-size -- true
try --control ctl -- true
try --control fifo:a,b,c -- true
try --start-disabled -- true
try --ring-size 3 -- true
try --ring-size 5M -- true
try --stack-ring-size 2G -- true
try --quiet=yes -- true
try -x -- true
try -o
