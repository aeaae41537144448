// tests/oracle/thrower.cc - call back from within C++ exception handling.

extern "C" void mt_thrower(void (*callback)(void *), void *arg);

namespace {

struct Guard {
	void (*callback)(void *);
	void *arg;

	~Guard()
	{
		callback(arg);	// while the stack is unwound, from a landing pad
	}
};

struct Error {
	void (*callback)(void *);
	void *arg;

	Error(void (*c)(void *), void *a) : callback(c), arg(a)
	{
	}
	Error(const Error &other) : callback(other.callback), arg(other.arg)
	{
		callback(arg);	// when a handler catches by value
	}
};

__attribute__((noinline)) void fail(void (*callback)(void *), void *arg)
{
	Guard guard = {callback, arg};

	throw Error(callback, arg);
}

}

void mt_thrower(void (*callback)(void *), void *arg)
{
	try {
		fail(callback, arg);
	} catch (Error error) {
		error.callback(error.arg);	// in the handler
	}
}
