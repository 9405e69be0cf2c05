/* Support/Numbers.c's bitcode inside of the compiler. */
#include "metate/Target/EmbedBitcode.inc"
        .section .rodata
METATE_BITCODE(Numbers)
        .section .note.GNU-stack,"",%progbits
