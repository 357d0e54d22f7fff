/* The translations, compiled from po/ by msgfmt and placed in the binary as they are. */
        .section .rodata
        .balign 4
        .global berth_catalogue_zh_CN
berth_catalogue_zh_CN:
        .incbin "zh_CN.mo"
        .global berth_catalogue_zh_CN_end
berth_catalogue_zh_CN_end:
        .byte 0
        .section .note.GNU-stack,"",%progbits
