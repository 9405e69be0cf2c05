/* Support/Numbers.c's bitcode inside of the compiler. */
#include "metate/Target/EmbedBitcode.inc"
        .section .rodata
METATE_BITCODE(Numbers_spirv64)
        .section .note.GNU-stack,"",%progbits
