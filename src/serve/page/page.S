/* The page as web/build.mjs bundled it, each file compressed by gzip, and its ETag. */
        .macro embed name, file
        .global berth_page_\name
berth_page_\name:
        .incbin "\file\().gz"
        .global berth_page_\name\()_end
berth_page_\name\()_end:
        .byte 0
        .global berth_page_\name\()_etag
berth_page_\name\()_etag:
        .incbin "\file\().etag"
        .global berth_page_\name\()_etag_end
berth_page_\name\()_etag_end:
        .byte 0
        .endm

        .section .rodata
        embed index, "index.html"
        embed script, "page.js"
        embed style, "page.css"
        embed icon, "icon.svg"
        .section .note.GNU-stack,"",%progbits
