/* Bitcode inside of the compiler: a device's C code for CUDA. */
#define METATE_BITCODE_PREFIX cuda_
#include "metate/Target/EmbedBitcode.inc"
        .section .rodata
METATE_BITCODE(Tree_nvptx64)
METATE_BITCODE(Grid_nvptx64)
METATE_BITCODE(Cuda_nvptx64)
        .section .note.GNU-stack,"",%progbits
