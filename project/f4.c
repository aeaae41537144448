#include <stdio.h>
int f4(void) { return printf("%d", 4); }
