/* native.c for ASCII texts, whose characters are bytes: this takes a quarter of the memory and compares many characters
   in one step. */
#define NARROW
#include "native.c"
