#include "report/debuginfod.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdbool.h>

#define LIBRARY "libdebuginfod.so.1"

/* What is used of the library. */
typedef void *(*begin_fn)(void);
typedef void (*end_fn)(void *client);
typedef int (*find_fn)(void *client, const unsigned char *id, int id_len, char **path);
typedef int (*told_fn)(void *client, long done, long all);
typedef void (*set_told_fn)(void *client, told_fn told);
typedef void (*set_data_fn)(void *client, void *data);
typedef void *(*get_data_fn)(void *client);

struct mt_debuginfod {
	pthread_mutex_t lock;	/* of all below: one file is fetched at a time */
	mt_debuginfod_told_fn told;
	void *arg;
	bool tried;
	char failure[128];
	const char *name;	/* of what is being fetched */
	void *library;
	void *client;
	end_fn end;
	find_fn find[2];
	get_data_fn get_data;
};

/* The library's callback gets the library's client, and that our object by its user data. */
static get_data_fn get_user_data;

int mt_debuginfod_new(const char *urls, mt_debuginfod_told_fn told, void *arg,
		      struct mt_debuginfod **ret_client)
{
	struct mt_debuginfod *client = calloc(1, sizeof(*client));

	if (!client)
		return -ENOMEM;
	pthread_mutex_init(&client->lock, NULL);
	client->told = told;
	client->arg = arg;
	if ((urls && setenv("DEBUGINFOD_URLS", urls, 1)) ||
	    setenv("DEBUGINFOD_TIMEOUT", MT_DEBUGINFOD_TIMEOUT, 0)) {
		mt_debuginfod_free(client);
		return -ENOMEM;
	}
	/* It has a progress line of its own. */
	unsetenv("DEBUGINFOD_PROGRESS");
	*ret_client = client;
	return 0;
}

void mt_debuginfod_free(struct mt_debuginfod *client)
{
	if (!client)
		return;
	if (client->client)
		client->end(client->client);
	if (client->library)
		dlclose(client->library);
	pthread_mutex_destroy(&client->lock);
	free(client);
}

/* Not zero would end the transfer. */
static int pass_on(void *library_client, long done, long all)
{
	struct mt_debuginfod *client = get_user_data(library_client);
	char text[192];

	if (!client->told)
		return 0;
	if (all > 0)
		snprintf(text, sizeof(text), "fetching debug information of %.100s, %ld of %ld KiB",
			 client->name, done / 1024, all / 1024);
	else
		snprintf(text, sizeof(text), "fetching debug information of %.100s", client->name);
	client->told(client->arg, text);
	return 0;
}

/* A function of the library: POSIX lets a pointer to one be copied so. */
static bool get(struct mt_debuginfod *client, const char *name, void *ret_function)
{
	void *symbol = dlsym(client->library, name);

	memcpy(ret_function, &symbol, sizeof(symbol));
	return symbol != NULL;
}

static void load(struct mt_debuginfod *client)
{
	set_data_fn set_data;
	set_told_fn set_told;
	begin_fn begin;

	client->tried = true;
	client->library = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);
	if (!client->library) {
		snprintf(client->failure, sizeof(client->failure), "%s is not installed", LIBRARY);
		return;
	}
	if (!get(client, "debuginfod_begin", &begin) ||
	    !get(client, "debuginfod_end", &client->end) ||
	    !get(client, "debuginfod_find_debuginfo", &client->find[MT_DEBUGINFOD_DEBUGINFO]) ||
	    !get(client, "debuginfod_find_executable", &client->find[MT_DEBUGINFOD_EXECUTABLE]) ||
	    !get(client, "debuginfod_set_progressfn", &set_told) ||
	    !get(client, "debuginfod_set_user_data", &set_data) ||
	    !get(client, "debuginfod_get_user_data", &get_user_data)) {
		snprintf(client->failure, sizeof(client->failure), "%s is too old", LIBRARY);
		return;
	}
	client->client = begin();
	if (!client->client) {
		snprintf(client->failure, sizeof(client->failure), "%s does not start", LIBRARY);
		return;
	}
	set_data(client->client, client);
	set_told(client->client, pass_on);
}

/* With the lock held. */
static int find(struct mt_debuginfod *client, enum mt_debuginfod_kind kind,
		const uint8_t *build_id, size_t n, const char *name, char **ret_path)
{
	const char *slash = strrchr(name, '/');
	char *path = NULL;
	int fd;

	if (!client->tried)
		load(client);
	if (client->failure[0])
		return -EHOSTUNREACH;
	client->name = slash ? slash + 1 : name;
	fd = client->find[kind](client->client, build_id, (int)n, &path);
	if (client->told)
		client->told(client->arg, NULL);
	if (fd >= 0) {
		*ret_path = path;
		return fd;
	}
	free(path);
	if (fd != -ENOENT)
		snprintf(client->failure, sizeof(client->failure), "%s", strerror(-fd));
	return fd;
}

int mt_debuginfod_find(struct mt_debuginfod *client, enum mt_debuginfod_kind kind,
		       const uint8_t *build_id, size_t n, const char *name, char **ret_path)
{
	int fd;

	pthread_mutex_lock(&client->lock);
	fd = find(client, kind, build_id, n, name, ret_path);
	pthread_mutex_unlock(&client->lock);
	return fd;
}

const char *mt_debuginfod_failure(const struct mt_debuginfod *client)
{
	return client->failure[0] ? client->failure : NULL;
}
