#include "record/code_layout.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <unistd.h>

#include "record/clock.h"
#include "record/frame_row.h"

#define LAYOUTS 8u
#define RANGES_MAX 1024u
#define READ_AGAIN_NS 50000000u

struct range {
	uint64_t start;
	uint64_t end;
	uint64_t base;		/* where the file's first page is */
	struct mt_frame_table table;
	bool looked;
	bool found;
};

struct layout {
	int pid;
	uint64_t version;
	uint64_t used;		/* the higher, the later */
	uint64_t read;		/* when; CLOCK_MONOTONIC, ns */
	uint32_t n_ranges;
	struct range ranges[RANGES_MAX];
};

struct mt_code_layout {
	uint64_t uses;
	char text[65536];
	struct layout layouts[LAYOUTS];
};

int mt_code_layout_new(struct mt_code_layout **ret_layout)
{
	struct mt_code_layout *layout = calloc(1, sizeof(*layout));

	if (!layout)
		return -ENOMEM;
	*ret_layout = layout;
	return 0;
}

void mt_code_layout_free(struct mt_code_layout *layout)
{
	free(layout);
}

/* What the lines of /proc/PID/maps before this one say. */
struct walk {
	struct layout *layout;
	uint64_t ino;
	uint64_t base;	/* of this file; 0: its first page is not mapped in front of it */
	char dev[16];
};

static void take_line(struct walk *walk, const char *line)
{
	struct range range = {};
	char perms[8], dev[16];
	uint64_t offset, ino;

	if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %7s %" SCNx64 " %15s %" SCNu64, &range.start,
		   &range.end, perms, &offset, dev, &ino) != 6)
		return;
	if (ino != walk->ino || strcmp(dev, walk->dev) != 0)
		walk->base = 0;
	walk->ino = ino;
	memcpy(walk->dev, dev, sizeof(dev));
	if (ino && offset == 0)
		walk->base = range.start;
	if (perms[2] != 'x' || !walk->base || walk->layout->n_ranges == RANGES_MAX)
		return;
	range.base = walk->base;
	walk->layout->ranges[walk->layout->n_ranges++] = range;
}

static void read_ranges(struct mt_code_layout *layouts, struct layout *layout)
{
	struct walk walk = { .layout = layout };
	char path[32], *line, *end, *text = layouts->text;
	size_t len = 0;
	ssize_t n;
	int fd;

	layout->n_ranges = 0;
	snprintf(path, sizeof(path), "/proc/%d/maps", layout->pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return;
	while ((n = read(fd, text + len, sizeof(layouts->text) - 1 - len)) > 0) {
		len += (size_t)n;
		text[len] = '\0';
		for (line = text; (end = strchr(line, '\n')); line = end + 1) {
			*end = '\0';
			take_line(&walk, line);
		}
		len -= (size_t)(line - text);
		memmove(text, line, len);
	}
	close(fd);
}

static struct layout *select_layout(struct mt_code_layout *layouts, int pid, uint64_t version)
{
	struct layout *oldest = &layouts->layouts[0], *layout;
	uint32_t i;

	for (i = 0; i < LAYOUTS; i++) {
		layout = &layouts->layouts[i];
		if (layout->version == version && layout->pid == pid) {
			oldest = layout;
			break;
		}
		if (layout->used < oldest->used)
			oldest = layout;
	}
	if (oldest->version != version || oldest->pid != pid) {
		oldest->version = version;
		oldest->pid = pid;
		oldest->n_ranges = 0;
		oldest->read = 0;
	}
	oldest->used = ++layouts->uses;
	return oldest;
}

static struct range *find_range(struct layout *layout, uint64_t addr)
{
	uint32_t low = 0, high = layout->n_ranges, middle;

	while (low < high) {
		middle = low + (high - low) / 2;
		if (layout->ranges[middle].end <= addr)
			low = middle + 1;
		else
			high = middle;
	}
	return low < layout->n_ranges && layout->ranges[low].start <= addr ?
	       &layout->ranges[low] : NULL;
}

const struct mt_frame_table *mt_code_layout_find(struct mt_code_layout *layouts,
						 struct mt_remote_memory *memory, int pid,
						 uint64_t version, uint64_t addr)
{
	struct layout *layout = select_layout(layouts, pid, version);
	struct range *range = find_range(layout, addr);
	uint64_t now;

	if (!range) {
		now = mt_now();
		if (layout->read && now - layout->read < READ_AGAIN_NS)
			return NULL;
		layout->read = now;
		read_ranges(layouts, layout);
		range = find_range(layout, addr);
	}
	if (range && !range->looked) {
		range->looked = true;
		range->found = mt_frame_table_find(memory, range->base, &range->table);
	}
	return range && range->found ? &range->table : NULL;
}
