/* Bitcode inside of the compiler: a device's C code for a CPU. Names as of every family's, so each has its own. */
#define METATE_BITCODE_PREFIX simt_
#include "metate/Target/EmbedBitcode.inc"
        .section .rodata
METATE_BITCODE(Tree_x86_64)
METATE_BITCODE(Grid_x86_64)
        .section .note.GNU-stack,"",%progbits
