#include <stdio.h>
int f2(void) { return printf("%d", 2); }
