#include "record/x86_insn.h"

/*
 * What follows an opcode, a letter for each:
 *   . nothing    m ModRM        M ModRM, 8 bits    Z ModRM, 16 or 32 bits
 *   b 8 bits     w 16 bits      e 24 bits          z 16 or 32 bits by operand size
 *   v as z, or 64 bits          o an address       3, 4 ModRM, and b or z if it is "test"
 *   r, R branch of 8 or 32 bits p prefix, rex, or escape: dealt with before     x not valid
 */
static const char one_byte[256 + 1] =
	/*        0123456789abcdef */
	/* 0 */	"mmmmbzxxmmmmbzxp"
	/* 1 */	"mmmmbzxxmmmmbzxx"
	/* 2 */	"mmmmbzpxmmmmbzpx"
	/* 3 */	"mmmmbzpxmmmmbzpx"
	/* 4 */	"pppppppppppppppp"
	/* 5 */	"................"
	/* 6 */	"xxxmppppzZbM...."
	/* 7 */	"rrrrrrrrrrrrrrrr"
	/* 8 */	"MZxMmmmmmmmmmmmm"
	/* 9 */	"..........x....."
	/* a */	"oooo....bz......"
	/* b */	"bbbbbbbbvvvvvvvv"
	/* c */	"MMw.ppMZe.w..bx."
	/* d */	"mmmmxxx.mmmmmmmm"
	/* e */	"rrrrbbbbRRxr...."
	/* f */	"p.pp..34......mm";

static const char two_byte[256 + 1] =
	/* 0 */	"mmmmx.....x.xm.M"
	/* 1 */	"mmmmmmmmmmmmmmmm"
	/* 2 */	"mmmmxxxxmmmmmmmm"
	/* 3 */	"......x.pxpxxxxx"
	/* 4 */	"mmmmmmmmmmmmmmmm"
	/* 5 */	"mmmmmmmmmmmmmmmm"
	/* 6 */	"mmmmmmmmmmmmmmmm"
	/* 7 */	"MMMMmmm.mmxxmmmm"
	/* 8 */	"RRRRRRRRRRRRRRRR"
	/* 9 */	"mmmmmmmmmmmmmmmm"
	/* a */	"...mMmxx...mMmmm"
	/* b */	"mmmmmmmmmmMmmmmm"
	/* c */	"mmMmMMMm........"
	/* d */	"mmmmmmmmmmmmmmmm"
	/* e */	"mmmmmmmmmmmmmmmm"
	/* f */	"mmmmmmmmmmmmmmmm";

enum map { MAP_ONE, MAP_0F, MAP_0F38, MAP_0F3A, MAP_XOP_IMM32 };

struct state {
	const uint8_t *code;
	size_t len;
	size_t pos;
	bool small_operand;	/* prefix 66 */
	bool small_address;	/* prefix 67 */
	bool rex_w;
	enum map map;
	uint8_t opcode;
	uint8_t modrm;
	bool rip_relative;
	size_t displacement;	/* where it is, if rip_relative */
};

static bool take(struct state *s, uint8_t *ret_byte)
{
	if (s->pos >= s->len || s->pos >= MT_X86_INSN_MAX)
		return false;
	*ret_byte = s->code[s->pos++];
	return true;
}

static bool skip(struct state *s, size_t n)
{
	if (s->len - s->pos < n || s->pos + n > MT_X86_INSN_MAX)
		return false;
	s->pos += n;
	return true;
}

/* VEX, EVEX and XOP: a byte that ends with the opcode map's number, payload, the opcode. */
static bool take_vector(struct state *s, uint8_t first)
{
	uint8_t byte, map = 1;
	size_t payload = 1;

	if (first != 0xc5) {
		if (!take(s, &byte))
			return false;
		map = first == 0x62 ? byte & 7 : byte & 31;
		payload = first == 0x62 ? 2 : 1;
	}
	if (!skip(s, payload) || !take(s, &s->opcode))
		return false;
	switch (map) {
	case 1:
		s->map = MAP_0F;
		/* The branches and the like of that map have no vector form. */
		return two_byte[s->opcode] == 'm' || two_byte[s->opcode] == 'M' ||
		       s->opcode == 0x77;
	case 2:
	case 5:
	case 6:
	case 9:
		s->map = MAP_0F38;
		return true;
	case 3:
	case 8:
		s->map = MAP_0F3A;
		return true;
	case 10:
		s->map = MAP_XOP_IMM32;
		return true;
	}
	return false;
}

static bool take_escape(struct state *s)
{
	if (!take(s, &s->opcode))
		return false;
	s->map = MAP_0F;
	if (s->opcode == 0x38)
		s->map = MAP_0F38;
	else if (s->opcode == 0x3a)
		s->map = MAP_0F3A;
	else
		return true;
	return take(s, &s->opcode);
}

static bool take_opcode(struct state *s)
{
	uint8_t byte;

	for (;;) {
		if (!take(s, &byte))
			return false;
		if (byte == 0x66)
			s->small_operand = true;
		else if (byte == 0x67)
			s->small_address = true;
		else if (byte != 0xf0 && byte != 0xf2 && byte != 0xf3 && byte != 0x26 &&
			 byte != 0x2e && byte != 0x36 && byte != 0x3e && byte != 0x64 &&
			 byte != 0x65)
			break;
	}
	if ((byte & 0xf0) == 0x40) {
		s->rex_w = byte & 8;
		if (!take(s, &byte))
			return false;
	}
	if (byte == 0xc4 || byte == 0xc5 || byte == 0x62)
		return take_vector(s, byte);
	/* XOP shares 8f with "pop", whose ModRM cannot look like a map number. */
	if (byte == 0x8f && s->pos < s->len && (s->code[s->pos] & 31) >= 8)
		return take_vector(s, byte);
	if (byte == 0x0f)
		return take_escape(s);
	s->opcode = byte;
	return true;
}

static bool take_modrm(struct state *s)
{
	uint8_t mod, rm, sib = 0;
	size_t displacement = 0;

	if (!take(s, &s->modrm))
		return false;
	mod = s->modrm >> 6;
	rm = s->modrm & 7;
	if (mod == 3)
		return true;
	if (rm == 4 && !take(s, &sib))
		return false;
	if (mod == 1)
		displacement = 1;
	else if (mod == 2 || rm == 5 || (rm == 4 && (sib & 7) == 5))
		displacement = 4;
	s->rip_relative = mod == 0 && rm == 5;
	s->displacement = s->pos;
	return skip(s, displacement);
}

static char shape_of(const struct state *s)
{
	switch (s->map) {
	case MAP_ONE:
		return one_byte[s->opcode];
	case MAP_0F:
		return two_byte[s->opcode];
	case MAP_0F38:
		return 'm';
	case MAP_0F3A:
		return 'M';
	case MAP_XOP_IMM32:
		return 'D';
	}
	return 'x';
}

static bool take_operands(struct state *s, char shape)
{
	size_t word = s->small_operand && !s->rex_w ? 2 : 4;

	switch (shape) {
	case '.': return true;
	case 'm': return take_modrm(s);
	case 'M': return take_modrm(s) && skip(s, 1);
	case 'Z': return take_modrm(s) && skip(s, word);
	case 'D': return take_modrm(s) && skip(s, 4);
	case '3': return take_modrm(s) && skip(s, (s->modrm & 0x30) == 0 ? 1 : 0);
	case '4': return take_modrm(s) && skip(s, (s->modrm & 0x30) == 0 ? word : 0);
	case 'b': return skip(s, 1);
	case 'r': return skip(s, 1);
	case 'w': return skip(s, 2);
	case 'e': return skip(s, 3);
	case 'z': return skip(s, word);
	case 'R': return skip(s, 4);
	case 'v': return skip(s, s->rex_w ? 8 : word);
	case 'o': return skip(s, s->small_address ? 4 : 8);
	}
	return false;
}

static enum mt_x86_flow flow_of(const struct state *s)
{
	if (s->map == MAP_0F) {
		if ((s->opcode & 0xf0) == 0x80)
			return MT_X86_BRANCH;
		return s->opcode == 0x0b || s->opcode == 0xb9 || s->opcode == 0xff ? MT_X86_STOP :
										     MT_X86_NEXT;
	}
	if (s->map != MAP_ONE)
		return MT_X86_NEXT;
	switch (s->opcode) {
	case 0xc2:
	case 0xc3:
		return MT_X86_RETURN;
	case 0xe8:
		return MT_X86_CALL;
	case 0xe9:
	case 0xeb:
		return MT_X86_JUMP;
	case 0xe0: case 0xe1: case 0xe2: case 0xe3:
		return MT_X86_BRANCH;
	case 0xca: case 0xcb: case 0xcc: case 0xcf: case 0xf1: case 0xf4:
		return MT_X86_STOP;
	case 0xff:
		switch (s->modrm >> 3 & 7) {
		case 2: return MT_X86_CALL_INDIRECT;
		case 4: return MT_X86_JUMP_INDIRECT;
		case 3:
		case 5:
		case 7: return MT_X86_STOP;
		}
		return MT_X86_NEXT;
	}
	return (s->opcode & 0xf0) == 0x70 ? MT_X86_BRANCH : MT_X86_NEXT;
}

static int32_t read_offset(const uint8_t *p)
{
	return (int32_t)((uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 |
			 (uint32_t)p[3] << 24);
}

bool mt_x86_decode(const uint8_t *code, size_t len, struct mt_x86_insn *ret_insn)
{
	struct state s = { .code = code, .len = len };
	struct mt_x86_insn insn = {};
	char shape;

	if (!take_opcode(&s))
		return false;
	shape = shape_of(&s);
	if (!take_operands(&s, shape))
		return false;
	insn.len = (uint8_t)s.pos;
	insn.flow = flow_of(&s);
	if (shape == 'r') {
		insn.offset = (int8_t)code[s.pos - 1];
	} else if (shape == 'R') {
		insn.offset = read_offset(code + s.pos - 4);
	} else if ((insn.flow == MT_X86_CALL_INDIRECT || insn.flow == MT_X86_JUMP_INDIRECT) &&
		   s.rip_relative) {
		insn.has_memory = true;
		insn.offset = read_offset(code + s.displacement);
	}
	*ret_insn = insn;
	return true;
}
