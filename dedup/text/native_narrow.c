/* native.c for texts of ASCII, whose characters are bytes: a quarter of the memory, and many are compared at a time. */
#define NARROW
#include "native.c"
