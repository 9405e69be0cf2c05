/* What generated C calls: the files of Support/ inside of the compiler, one behind the other. */
        .section .rodata
        .global metate_c_helpers_begin
        .hidden metate_c_helpers_begin
metate_c_helpers_begin:
/* What a file begins with is a part without a name. */
.macro HELPERS file
        .ascii "\n//@ \n"
        .incbin "\file"
.endm
        HELPERS Machine.txt
        HELPERS Memory.txt
        HELPERS Integers.txt
        HELPERS Floats.txt
        HELPERS Vectors.txt
        HELPERS Atomics.txt
        .global metate_c_helpers_end
        .hidden metate_c_helpers_end
metate_c_helpers_end:
        .section .note.GNU-stack,"",%progbits
