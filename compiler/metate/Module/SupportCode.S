/* Support/'s bitcode inside of the compiler, and the text that generated headers have of it. */
#include "metate/Target/EmbedBitcode.inc"
        .section .rodata
#define METATE_SUPPORT_OF_SYSTEM(support, flags) METATE_BITCODE(Block_##support); METATE_BITCODE(Packed_##support); \
  METATE_BITCODE(Session_##support); METATE_BITCODE(Describe_##support);
#define METATE_SUPPORT_SOURCE(support, flags) METATE_BITCODE(Block_##support);
#define METATE_SUPPORT_ALONE(support, flags) METATE_SUPPORT_OF_SYSTEM(support, flags)
#include "metate/Emit/Architectures.def"
        .global metateQuantisedBegin
        .hidden metateQuantisedBegin
metateQuantisedBegin:
        .incbin METATE_TEXT(METATE_SUPPORT_FOLDER/Quantised.h)
        .global metateQuantisedEnd
        .hidden metateQuantisedEnd
metateQuantisedEnd:
        .section .note.GNU-stack,"",%progbits
