#include <stdio.h>
int f1(void) { return printf("%d", 1); }
