/* Support/'s bitcode inside of the compiler. */
#include "metate/Target/EmbedBitcode.inc"
        .section .rodata
METATE_BITCODE(Block_x86_64)
METATE_BITCODE(Packed_x86_64)
METATE_BITCODE(Block_aarch64)
METATE_BITCODE(Packed_aarch64)
        .section .note.GNU-stack,"",%progbits
