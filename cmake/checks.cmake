# Lists that tools/run_tests.py reads, so that a test program which was never built is noticed.

get_property(programs GLOBAL PROPERTY BERTH_TEST_PROGRAMS)
list(JOIN programs "\n" lines)
file(WRITE ${CMAKE_BINARY_DIR}/test_programs.txt "${lines}\n")
