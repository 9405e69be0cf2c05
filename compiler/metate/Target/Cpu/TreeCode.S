/* Emit/Support/Tree.c's bitcode inside of the compiler, for each architecture, and its machine code for those with a system. */
#include "metate/Target/EmbedBitcode.inc"
        .section .rodata
#define METATE_SUPPORT_OF_SYSTEM(support, flags) METATE_BITCODE(Tree_##support); METATE_OBJECT(Tree_##support);
#define METATE_SUPPORT_ALONE(support, flags) METATE_BITCODE(Tree_##support);
#include "metate/Emit/Architectures.def"
        .section .note.GNU-stack,"",%progbits
