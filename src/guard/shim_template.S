/* The shim's template, compressed by gzip (cmake/guard.cmake). Of no bytes where it is not built. */
        .section .rodata
        .global berth_shim_template
berth_shim_template:
        .incbin "berth-guard.so.gz"
        .global berth_shim_template_end
berth_shim_template_end:
        .byte 0
        .section .note.GNU-stack,"",%progbits
