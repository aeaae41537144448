/*
 * report/symbols.h - ELF symbols of one module: .symtab and .dynsym, the separate debug file's
 * and those packed into .gnu_debugdata, merged by (address, name) and sorted by address.
 */
#ifndef MT_SYMBOLS_H
#define MT_SYMBOLS_H

#include <stddef.h>
#include <stdint.h>
#include <stdbool.h>

struct mt_module;
struct mt_symbols;

#define MT_SYMBOLS_MAX (1u << 26)

struct mt_symbol {
	uint64_t addr;		/* svma */
	uint64_t size;		/* after the zero-size rule of memtrack.metadata(5); never 0 */
	const char *name;	/* as in the file, mangled; lives as long as the module */
	bool function;		/* STT_FUNC or STT_GNU_IFUNC */
	bool sized;		/* the file itself gave a size */
	bool global;		/* or weak: a name other files can use */
	bool weak;
	bool label;		/* of code, without a type */
};

/*
 * Symbols that have an address in the module and are not left out by memtrack.metadata(5).
 * At one address, in the order .symtab, .dynsym, debug file, .gnu_debugdata, each as in the file. A
 * module with none, or a refused one, gives an empty list. 0, -ENOMEM, -MT_E_LIMIT.
 */
int mt_symbols_load(struct mt_module *module, struct mt_symbols **ret_symbols);
void mt_symbols_free(struct mt_symbols *symbols);
size_t mt_symbols_count(const struct mt_symbols *symbols);
const struct mt_symbol *mt_symbols_at(const struct mt_symbols *symbols, size_t index);

/*
 * The function that holds svma, or NULL. Never a data symbol, never one whose size or section
 * ends before svma. Where functions overlap, the one that starts last. Among aliases: global
 * before weak before local, then fewest leading underscores, then the shortest, then by name.
 * Where there is no function, a symbol of code without a type, by the same rules; .dynsym's only
 * if it has a size.
 */
const struct mt_symbol *mt_symbols_find(const struct mt_symbols *symbols, uint64_t svma);

#endif
