/* Emit/Support/Tree.c's bitcode and machine code inside of the compiler. */
#include "metate/Target/EmbedBitcode.inc"
        .section .rodata
METATE_BITCODE(Tree_x86_64)
METATE_BITCODE(Tree_aarch64)
METATE_OBJECT(Tree_x86_64)
METATE_OBJECT(Tree_aarch64)
        .section .note.GNU-stack,"",%progbits
