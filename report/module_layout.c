/* How a module's file says it is laid out in memory. */
#include "report/module_impl.h"

uint64_t mt_module_entry(const struct mt_module *module)
{
	GElf_Ehdr ehdr;

	return module->own.elf && gelf_getehdr(module->own.elf, &ehdr) ? ehdr.e_entry : 0;
}

size_t mt_module_sections(const struct mt_module *module)
{
	return module->own.elf ? module->own.n_sections : 0;
}

bool mt_module_memory_section(const struct mt_module *module, size_t index,
			      struct mt_module_range *ret_range)
{
	const char *name;
	GElf_Shdr shdr;
	size_t names;

	if (index >= mt_module_sections(module) || elf_getshdrstrndx(module->own.elf, &names) ||
	    !gelf_getshdr(elf_getscn(module->own.elf, index), &shdr) ||
	    !(shdr.sh_flags & SHF_ALLOC) || !shdr.sh_size ||
	    shdr.sh_size > UINT64_MAX - shdr.sh_addr)
		return false;
	/* .tbss has addresses that are others'. */
	if (shdr.sh_flags & SHF_TLS && shdr.sh_type == SHT_NOBITS)
		return false;
	name = elf_strptr(module->own.elf, names, shdr.sh_name);
	if (!name || !*name)
		return false;
	*ret_range = (struct mt_module_range){ name, shdr.sh_addr, shdr.sh_size };
	return true;
}
