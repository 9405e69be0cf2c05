/* Support/'s bitcode inside of the compiler, and the text that generated headers have of it. */
#include "metate/Target/EmbedBitcode.inc"
        .section .rodata
METATE_BITCODE(Block_x86_64)
METATE_BITCODE(Packed_x86_64)
METATE_BITCODE(Block_aarch64)
METATE_BITCODE(Packed_aarch64)
        .global metate_text_Quantised_begin
        .hidden metate_text_Quantised_begin
metate_text_Quantised_begin:
        .incbin METATE_TEXT(METATE_SUPPORT_FOLDER/Quantised.h)
        .global metate_text_Quantised_end
        .hidden metate_text_Quantised_end
metate_text_Quantised_end:
        .section .note.GNU-stack,"",%progbits
