/* Emit/Support/Tree.c's bitcode inside of the compiler: `METATE_BITCODE_FOLDER` is where the build put it. */
        .section .rodata
#define METATE_QUOTED(text) #text
#define METATE_TEXT(text) METATE_QUOTED(text)
#define METATE_BITCODE(name)                                                                       \
        .balign 16;                                                                                \
        .global metate_bitcode_##name##_begin;                                                     \
        .hidden metate_bitcode_##name##_begin;                                                     \
metate_bitcode_##name##_begin:                                                                     \
        .incbin METATE_TEXT(METATE_BITCODE_FOLDER/name.bc);                                        \
        .global metate_bitcode_##name##_end;                                                       \
        .hidden metate_bitcode_##name##_end;                                                       \
metate_bitcode_##name##_end:
METATE_BITCODE(Tree_x86_64)
METATE_BITCODE(Tree_aarch64)
        .section .note.GNU-stack,"",%progbits
