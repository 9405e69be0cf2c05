/* The text of support code inside of the compiler, for C files (SupportSource.cpp): each file behind its name. */
        .section .rodata
        .global metate_support_text_begin
        .hidden metate_support_text_begin
metate_support_text_begin:
.macro TEXT file
        .ascii "//@ \file\n"
        .incbin "\file"
.endm
#define METATE_SUPPORT_TEXT(file) TEXT file
#include "metate/Module/SupportText.def"
        .global metate_support_text_end
        .hidden metate_support_text_end
metate_support_text_end:
        .section .note.GNU-stack,"",%progbits
