#include <stdio.h>
int f3(void) { return printf("%d", 3); }
