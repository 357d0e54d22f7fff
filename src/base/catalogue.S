/* The translations, compiled from po/ by msgfmt packed, and placed in the binary. */
        .section .rodata
        .global berth_catalogue_zh_CN
berth_catalogue_zh_CN:
        .incbin "zh_CN.mo.gz"
        .global berth_catalogue_zh_CN_end
berth_catalogue_zh_CN_end:
        .byte 0
        .section .note.GNU-stack,"",%progbits
