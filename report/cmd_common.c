#include "report/cmd.h"

#include "common/error.h"
#include "report/cache.h"
#include "report/debuginfod.h"
#include "report/reader.h"
#include "report/profile_read.h"

#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <sys/stat.h>
#include <unistd.h>

void mt_cmd_say(const char *format, ...)
{
	va_list args;
	char *text;
	int n;

	va_start(args, format);
	n = vasprintf(&text, format, args);
	va_end(args);
	fputs("mt-report: ", stderr);
	/* Names from a file must not drive the terminal. */
	mt_text_put_clean(n < 0 ? "out of memory" : text, stderr);
	putc('\n', stderr);
	if (n >= 0)
		free(text);
}

int mt_cmd_fail(const char *file, int err)
{
	if (err == -MT_E_NOT_ARTIFACT)
		mt_cmd_say("%s: not an artifact of mt-record", file);
	else if (err == -EOPNOTSUPP)
		mt_cmd_say("%s: recorded on a machine whose stacks cannot be unwound here", file);
	else
		mt_cmd_say("%s: %s", file, mt_strerror(err));
	return MT_EXIT_NO_RESULT;
}

static bool smart_terminal(void)
{
	const char *term = getenv("TERM");

	return term && strcmp(term, "dumb") != 0;
}

/* Threads that fetch files call it as well. */
void mt_cmd_progress(void *unused, const char *doing)
{
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	static bool shown;

	(void)unused;
	if (!isatty(STDERR_FILENO) || !smart_terminal())
		return;
	pthread_mutex_lock(&lock);
	if (doing || shown)
		fputs("\r\033[K", stderr);
	shown = doing != NULL;
	if (doing)
		fprintf(stderr, "mt-report: %s...", doing);
	fflush(stderr);
	pthread_mutex_unlock(&lock);
}

void mt_cmd_watch(struct mt_reader *reader, const char *doing)
{
	static struct mt_progress progress = { .fn = mt_cmd_progress };

	mt_reader_tell(reader, doing ? mt_progress_read_on : NULL, &progress);
	mt_progress_begin(&progress, doing);
}

/*
 * Nothing to speak of if there is no place for one; a folder that was asked for is spoken of, and
 * the report is made without.
 */
static int open_cache(const struct mt_report_opts *opts, struct mt_cache **ret_cache)
{
	int err = opts->no_cache ? 0 : mt_cache_open(opts->cache_dir, ret_cache);

	if (!err || err == -ENOMEM)
		return err;
	if (opts->cache_dir || opts->verbose)
		mt_cmd_say("no cache is used: %s%s%s", opts->cache_dir ? opts->cache_dir : "",
			   opts->cache_dir ? ": " : "", err == -EPERM ?
			   "others can write to it, or it is another user's" : mt_strerror(err));
	return 0;
}

static void tell_cache(struct mt_cache *cache)
{
	struct mt_cache_stats stats;

	if (!cache)
		return;
	mt_cache_stats(cache, &stats);
	mt_cmd_say("cache %s: %u used, %u written, %u out of date, %u ignored as damaged or open "
		   "to others, %u could not be written", mt_cache_dir(cache), stats.used,
		   stats.written, stats.stale, stats.bad, stats.failed);
}

static bool open_profile(const char *dir, struct mt_profile_modules **ret_modules)
{
	int err = mt_profile_modules_open(dir, ret_modules);

	if (err) {
		mt_cmd_say("--profile: %s: %s", dir, err == -MT_E_CORRUPT || err == -ENOENT ?
			   "not a profile folder" : mt_strerror(err));
		return false;
	}
	if (!mt_profile_modules_count(*ret_modules))
		mt_cmd_say("--profile: %s: no module there has a build-id to be known by", dir);
	return true;
}

/* A folder that is misspelt would look like one in which nothing fits. */
static bool is_folder(const char *option, const char *dir)
{
	struct stat st;

	if (!dir)
		return true;
	if (stat(dir, &st))
		mt_cmd_say("%s: %s: %s", option, dir, strerror(errno));
	else if (!S_ISDIR(st.st_mode))
		mt_cmd_say("%s: %s: %s", option, dir, strerror(ENOTDIR));
	else
		return true;
	return false;
}

bool mt_cmd_load(const struct mt_report_opts *opts, unsigned int needs,
		 struct mt_analysis *ret_analysis)
{
	struct mt_module_options options = {
		.sysroot = opts->sysroot, .debug_dir = opts->debug_dir,
	};
	struct mt_range_wanted range = { .marks = { opts->between[0], opts->between[1] } };
	const char *urls = getenv("DEBUGINFOD_URLS");
	int err = 0;

	if (!is_folder("--sysroot", opts->sysroot) || !is_folder("--debug-dir", opts->debug_dir))
		return false;
	if (opts->profile && !open_profile(opts->profile, &options.profile))
		return false;
	if (opts->debuginfod || (urls && *urls))
		err = mt_debuginfod_new(opts->debuginfod, mt_cmd_progress, NULL,
					&options.debuginfod);
	if (!err)
		err = open_cache(opts, &options.cache);
	if (!err)
		err = mt_analysis_load(opts->file, needs, &options, (unsigned int)opts->threads,
				       &range, mt_cmd_progress, NULL, ret_analysis);
	mt_cmd_progress(NULL, NULL);
	if (err && *range.error)
		mt_cmd_say("--between: %s", range.error);
	else if (err)
		mt_cmd_fail(opts->file, err);
	if (!err && opts->verbose)
		tell_cache(ret_analysis->cache);
	return !err;
}

const struct mt_style *mt_cmd_style(void)
{
	const char *no_colour = getenv("NO_COLOR");

	if (!isatty(STDOUT_FILENO) || (no_colour && *no_colour) || !smart_terminal())
		return &mt_style_plain;
	return &mt_style_colour;
}

int mt_cmd_finish(const struct mt_problems *problems, bool in_report)
{
	size_t i;

	if (fflush(stdout) || ferror(stdout)) {
		mt_cmd_say("standard output: %s", strerror(errno));
		return MT_EXIT_NO_RESULT;
	}
	/* One terminal need not be told twice. */
	if (!in_report || !isatty(STDOUT_FILENO) || !isatty(STDERR_FILENO))
		for (i = 0; i < problems->n; i++)
			mt_cmd_say("%s", problems->lines[i]);
	return problems->n ? MT_EXIT_PARTIAL : MT_EXIT_COMPLETE;
}
