#include "record/decode_impl.h"

#include <errno.h>

#include "record/id_table.h"
#include "record/mapping_queue.h"
#include "record/mmap_events.h"
#include "record/writer.h"

static int queue_mapping(struct mt_decoder *decoder, const struct mt_mapping *row)
{
	int err;

	if (mt_mapping_queue_add(decoder->mappings, row, decoder->reaches))
		return 0;
	err = mt_decoder_flush(decoder, true);
	if (err || mt_mapping_queue_add(decoder->mappings, row, decoder->reaches))
		return err;
	err = mt_decoder_flush(decoder, false);
	if (err)
		return err;
	return mt_mapping_queue_add(decoder->mappings, row, decoder->reaches) ? 0 : -ENOBUFS;
}

int mt_decode_unmap(struct mt_decoder *decoder, const struct mt_ring_unmap *rec)
{
	struct mt_mapping row = {
		.type = MT_MAP_UNMAP, .time = rec->hdr.time, .process = rec->hdr.pid,
		.start = rec->start, .end = rec->end, .path = "",
	};

	return queue_mapping(decoder, &row);
}

void mt_decoder_begin(struct mt_decoder *decoder, uint64_t time)
{
	decoder->begin = time;
}

void mt_decoder_progress(struct mt_decoder *decoder, uint64_t read, uint64_t reaches)
{
	decoder->read = read;
	decoder->reaches = reaches;
}

uint32_t mt_decoder_mapping_room(const struct mt_decoder *decoder)
{
	return mt_mapping_queue_room(decoder->mappings);
}

int mt_decoder_mapping(struct mt_decoder *decoder, const struct mt_mmap_record *record)
{
	struct mt_mapping row = {
		.type = record->exec_clear ? MT_MAP_EXEC_CLEAR : MT_MAP_MAP,
		.time = record->time,
		.process = record->pid,
		.start = record->start,
		.end = record->end,
		.offset = record->offset,
		.dev_major = record->dev_major,
		.dev_minor = record->dev_minor,
		.ino = record->ino,
		.generation = record->generation,
		.path = record->path,
	};

	return queue_mapping(decoder, &row);
}

static uint32_t process_at(void *decoder, uint32_t pid, uint64_t time)
{
	return mt_id_table_find(((struct mt_decoder *)decoder)->processes, pid, time, NULL);
}

int mt_decoder_flush(struct mt_decoder *decoder, bool keep)
{
	const struct mt_mapping *rows;
	int err = mt_decoder_write_events(decoder);
	uint32_t n = mt_mapping_queue_settle(decoder->mappings, process_at, decoder, &rows);

	if (!err && n)
		err = mt_writer_mappings(decoder->writer, rows, n);
	decoder->orphan_mappings += mt_mapping_queue_clear(decoder->mappings, n,
							   keep ? decoder->read : UINT64_MAX,
							   decoder->begin);
	return err;
}

uint64_t mt_decoder_orphan_mappings(const struct mt_decoder *decoder)
{
	return decoder->orphan_mappings;
}
