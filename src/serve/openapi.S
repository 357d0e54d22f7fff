/* The description of the API, as it is served. */
        .section .rodata
        .global berth_openapi
berth_openapi:
        .incbin "openapi.json"
        .global berth_openapi_end
berth_openapi_end:
        .byte 0
        .section .note.GNU-stack,"",%progbits
