/* The built-in scenarios, packed, and placed in the binary. Listed by name in sim/builtin.cc. */
        .section .rodata
        .macro scenario symbol, file
        .global berth_scenario_\symbol
berth_scenario_\symbol:
        .incbin "\file\().gz"
        .global berth_scenario_\symbol\()_end
berth_scenario_\symbol\()_end:
        .byte 0
        .endm

        scenario server_8xh100, "server-8xh100.json"
        scenario month_8xh100, "month-8xh100.json"
        scenario lab_4, "lab-4.json"
        scenario desktop, "desktop.json"
        scenario h100_mig, "h100-mig.json"
        scenario no_history, "no-history.json"
        scenario faults, "faults.json"
        scenario driver_mismatch, "driver-mismatch.json"
        scenario mi300x_8, "mi300x-8.json"
        scenario mi300x_cpx, "mi300x-cpx.json"
        scenario arc_mixed, "arc-mixed.json"
        scenario ascend_910b_8, "ascend-910b-8.json"
        .section .note.GNU-stack,"",%progbits
