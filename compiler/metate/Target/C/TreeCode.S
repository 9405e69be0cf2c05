/* Emit/Support/Tree.c's bitcode inside of the compiler, for no machine in particular. */
#define METATE_BITCODE_PREFIX c_
#include "metate/Target/EmbedBitcode.inc"
        .section .rodata
METATE_BITCODE(Tree_c)
METATE_BITCODE(Tree_c_bare)
        .section .note.GNU-stack,"",%progbits
