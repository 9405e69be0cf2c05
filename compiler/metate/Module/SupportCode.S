/* Support/'s bitcode inside of the compiler, and the text that generated headers have of it. */
#include "metate/Target/EmbedBitcode.inc"
        .section .rodata
METATE_BITCODE(Block_x86_64)
METATE_BITCODE(Packed_x86_64)
METATE_BITCODE(Session_x86_64)
METATE_BITCODE(Describe_x86_64)
METATE_BITCODE(Block_aarch64)
METATE_BITCODE(Packed_aarch64)
METATE_BITCODE(Session_aarch64)
METATE_BITCODE(Describe_aarch64)
        .global metateQuantisedBegin
        .hidden metateQuantisedBegin
metateQuantisedBegin:
        .incbin METATE_TEXT(METATE_SUPPORT_FOLDER/Quantised.h)
        .global metateQuantisedEnd
        .hidden metateQuantisedEnd
metateQuantisedEnd:
        .section .note.GNU-stack,"",%progbits
