/* report/number_order.h - an order of numbers, for qsort(3). */
#ifndef MT_NUMBER_ORDER_H
#define MT_NUMBER_ORDER_H

#include <stdint.h>

/* Below, at or above 0. */
static inline int mt_compare(uint64_t a, uint64_t b)
{
	return a < b ? -1 : a > b;
}

#endif
