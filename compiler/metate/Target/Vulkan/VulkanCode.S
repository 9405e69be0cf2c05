/* Bitcode inside of the compiler: a device's C code for Vulkan. */
#define METATE_BITCODE_PREFIX vulkan_
#include "metate/Target/EmbedBitcode.inc"
        .section .rodata
METATE_BITCODE(Tree_spirv64)
METATE_BITCODE(Grid_spirv64)
        .section .note.GNU-stack,"",%progbits
