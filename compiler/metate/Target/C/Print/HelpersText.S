/* Support/Helpers.txt inside of the compiler. */
        .section .rodata
        .global metate_c_helpers_begin
        .hidden metate_c_helpers_begin
metate_c_helpers_begin:
        .incbin METATE_HELPERS_FILE
        .global metate_c_helpers_end
        .hidden metate_c_helpers_end
metate_c_helpers_end:
        .section .note.GNU-stack,"",%progbits
