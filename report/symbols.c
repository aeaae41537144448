#include "report/symbols.h"

#include "common/error.h"
#include "report/module.h"
#include "report/number_order.h"
#include "report/spans.h"

#include <elf.h>
#include <errno.h>

/* A symbol with what only loading needs. */
struct entry {
	struct mt_symbol symbol;
	uint64_t section_end;
	uint32_t order;		/* as found: table, then index */
	uint8_t rank;		/* of its binding; the lowest is preferred */
	uint8_t underscores;
	bool duplicate;
};

struct mt_symbols {
	struct mt_symbol *symbols;
	size_t n;
	struct mt_spans functions;	/* value: index in symbols */
	struct mt_spans labels;		/* for what is in no function */
};

/* $a, $d, $t, $x, alone or followed by a dot: marks of the ARM assemblers, not names. */
static bool is_mapping_symbol(const char *name)
{
	return name[0] == '$' && name[1] && strchr("adtx", name[1]) && (!name[2] || name[2] == '.');
}

static bool in_code(const struct mt_module *module, uint64_t addr)
{
	const struct mt_module_segment *segments;
	size_t n = mt_module_segments(module, &segments), i;

	for (i = 0; i < n; i++)
		if (segments[i].flags & PF_X && addr >= segments[i].vaddr &&
		    addr - segments[i].vaddr < segments[i].memsz)
			return true;
	return false;
}

/*
 * Functions written in assembler may lack a type. One without a size reaches to the next
 * symbol, which only a whole table knows: .dynsym has but some.
 */
static bool is_label(const struct mt_module *module, const struct mt_elf_symbol *elf, int table)
{
	return elf->type == STT_NOTYPE && (elf->size || table != MT_TABLE_DYNSYM) &&
	       in_code(module, elf->addr);
}

static void fill_entry(struct entry *entry, const struct mt_elf_symbol *elf, uint32_t order)
{
	size_t underscores = strspn(elf->name, "_");

	entry->symbol.addr = elf->addr;
	entry->symbol.size = elf->size;
	entry->symbol.name = elf->name;
	entry->symbol.function = elf->type == STT_FUNC || elf->type == STT_GNU_IFUNC;
	entry->symbol.sized = elf->size != 0;
	entry->symbol.global = elf->binding != STB_LOCAL;
	entry->symbol.weak = elf->binding == STB_WEAK;
	entry->section_end = elf->section_end;
	entry->order = order;
	entry->rank = elf->binding == STB_GLOBAL || elf->binding == STB_GNU_UNIQUE ? 0 :
		      elf->binding == STB_WEAK ? 1 : 2;
	entry->underscores = underscores < UINT8_MAX ? underscores : UINT8_MAX;
}

static int collect(struct mt_module *module, struct entry **ret_entries, size_t *ret_n)
{
	struct mt_elf_symbol elf;
	struct entry *entries;
	size_t n = 0, max = 0, index, count;
	int table;

	for (table = MT_TABLE_SYMTAB; table < MT_TABLES; table++) {
		count = mt_module_symbol_count(module, table);
		if (count > MT_SYMBOLS_MAX - max)
			return -MT_E_LIMIT;
		max += count;
	}
	entries = calloc(max + 1, sizeof(*entries));
	if (!entries)
		return -ENOMEM;
	for (table = MT_TABLE_SYMTAB; table < MT_TABLES; table++) {
		count = mt_module_symbol_count(module, table);
		for (index = 0; index < count; index++) {
			if (!mt_module_symbol(module, table, index, &elf))
				continue;
			if (!elf.name[0] || is_mapping_symbol(elf.name))
				continue;
			fill_entry(&entries[n], &elf, n);
			entries[n].symbol.label = is_label(module, &elf, table);
			n++;
		}
	}
	*ret_entries = entries;
	*ret_n = n;
	return 0;
}

static int by_addr_name(const void *va, const void *vb)
{
	const struct entry *a = va, *b = vb;
	int order = mt_compare(a->symbol.addr, b->symbol.addr);

	if (!order)
		order = strcmp(a->symbol.name, b->symbol.name);
	return order ? order : mt_compare(a->order, b->order);
}

static int by_addr_order(const void *va, const void *vb)
{
	const struct entry *a = va, *b = vb;
	int order = mt_compare(a->symbol.addr, b->symbol.addr);

	return order ? order : mt_compare(a->order, b->order);
}

/* Keep the first of each (address, name), sorted by address, then as found. */
static size_t merge(struct entry *entries, size_t n)
{
	size_t i, kept = 0;

	if (!n)
		return 0;
	qsort(entries, n, sizeof(*entries), by_addr_name);
	for (i = 1; i < n; i++)
		entries[i].duplicate = entries[i].symbol.addr == entries[i - 1].symbol.addr &&
				       !strcmp(entries[i].symbol.name, entries[i - 1].symbol.name);
	for (i = 0; i < n; i++) {
		if (!entries[i].duplicate)
			entries[kept++] = entries[i];
	}
	qsort(entries, kept, sizeof(*entries), by_addr_order);
	return kept;
}

/* Give every symbol a size by the format's rule and drop those that get none. */
static size_t settle_sizes(struct entry *entries, size_t n)
{
	struct mt_symbol *symbol;
	size_t i, kept = 0;

	for (i = 0; i < n; i++) {
		symbol = &entries[i].symbol;
		if (symbol->size)
			continue;
		if (i + 1 < n)
			symbol->size = entries[i + 1].symbol.addr - symbol->addr;
		else if (symbol->addr <= UINT64_MAX - 2 * 4096)
			symbol->size = ((symbol->addr + 4095) & ~4095ull) + 4096 - symbol->addr;
	}
	for (i = 0; i < n; i++) {
		if (entries[i].symbol.size)
			entries[kept++] = entries[i];
	}
	return kept;
}

/* Of functions that start together, the preferred one last. */
static int by_addr_preference(const void *va, const void *vb)
{
	const struct entry *a = *(const struct entry *const *)va;
	const struct entry *b = *(const struct entry *const *)vb;
	int order = mt_compare(a->symbol.addr, b->symbol.addr);

	if (!order)
		order = mt_compare(b->rank, a->rank);
	if (!order)
		order = mt_compare(b->underscores, a->underscores);
	if (!order)
		order = mt_compare(strlen(b->symbol.name), strlen(a->symbol.name));
	if (!order)
		order = strcmp(b->symbol.name, a->symbol.name);
	return order;
}

static uint64_t function_end(const struct entry *entry)
{
	uint64_t addr = entry->symbol.addr, end = UINT64_MAX;

	if (entry->symbol.size <= UINT64_MAX - addr)
		end = addr + entry->symbol.size;
	return entry->section_end < end ? entry->section_end : end;
}

static int index_functions(const struct entry *entries, size_t n, bool labels,
			   struct mt_spans *spans)
{
	const struct entry **functions;
	struct mt_range *ranges;
	size_t n_functions = 0, i;
	int err = -ENOMEM;

	functions = calloc(n + 1, sizeof(*functions));
	ranges = calloc(n + 1, sizeof(*ranges));
	if (!functions || !ranges)
		goto out;
	for (i = 0; i < n; i++) {
		if (labels ? entries[i].symbol.label : entries[i].symbol.function)
			functions[n_functions++] = &entries[i];
	}
	qsort(functions, n_functions, sizeof(*functions), by_addr_preference);
	for (i = 0; i < n_functions; i++) {
		ranges[i].start = functions[i]->symbol.addr;
		ranges[i].end = function_end(functions[i]);
		ranges[i].value = functions[i] - entries;
		ranges[i].order = i;
	}
	err = mt_spans_build(spans, ranges, n_functions);
out:
	free(functions);
	free(ranges);
	return err;
}

int mt_symbols_load(struct mt_module *module, struct mt_symbols **ret_symbols)
{
	struct entry *entries = NULL;
	struct mt_symbols *symbols;
	size_t n = 0, i;
	int err;

	symbols = calloc(1, sizeof(*symbols));
	if (!symbols)
		return -ENOMEM;
	err = collect(module, &entries, &n);
	if (err)
		goto out_free;
	n = settle_sizes(entries, merge(entries, n));
	err = -ENOMEM;
	symbols->symbols = calloc(n + 1, sizeof(*symbols->symbols));
	if (!symbols->symbols)
		goto out_free;
	for (i = 0; i < n; i++)
		symbols->symbols[i] = entries[i].symbol;
	symbols->n = n;
	err = index_functions(entries, n, false, &symbols->functions);
	if (!err)
		err = index_functions(entries, n, true, &symbols->labels);
	if (err)
		goto out_free;
	free(entries);
	*ret_symbols = symbols;
	return 0;

out_free:
	free(entries);
	mt_symbols_free(symbols);
	return err;
}

void mt_symbols_free(struct mt_symbols *symbols)
{
	if (!symbols)
		return;
	free(symbols->symbols);
	mt_spans_release(&symbols->functions);
	mt_spans_release(&symbols->labels);
	free(symbols);
}

size_t mt_symbols_count(const struct mt_symbols *symbols)
{
	return symbols->n;
}

const struct mt_symbol *mt_symbols_at(const struct mt_symbols *symbols, size_t index)
{
	return &symbols->symbols[index];
}

const struct mt_symbol *mt_symbols_find(const struct mt_symbols *symbols, uint64_t svma)
{
	uint32_t index = mt_spans_find(&symbols->functions, svma);

	if (index == MT_SPANS_NONE)
		index = mt_spans_find(&symbols->labels, svma);
	return index == MT_SPANS_NONE ? NULL : &symbols->symbols[index];
}
