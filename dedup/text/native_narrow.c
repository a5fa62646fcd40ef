/* native.c for texts of ASCII, where a character is a byte: a quarter of the memory, and characters that are compared
   many at a time. */
#define NARROW
#include "native.c"
