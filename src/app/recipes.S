/* The programs of examples/recipes, placed in the binary as they are. Listed in app/recipes.cc. */
        .section .rodata
        .macro recipe name
        .global berth_recipe_\name
berth_recipe_\name:
        .incbin "\name\().py"
        .global berth_recipe_\name\()_end
berth_recipe_\name\()_end:
        .byte 0
        .endm

        recipe accumulate
        recipe mixed_precision
        recipe activation_checkpointing
        recipe busy_gpu
        recipe data_loader
        recipe memory_marks
        recipe distributed
        recipe resume
        .section .note.GNU-stack,"",%progbits
