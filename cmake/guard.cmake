# The shim's template, compressed, for the .incbin in guard/shim_template.S. Where it is not built there
# is nothing, and the program says that it has no shim.
function(berth_shim_template)
  set(packed ${CMAKE_BINARY_DIR}/guard/berth-guard.so.gz)
  if(TARGET berth_guard_shim)
    add_custom_command(
      OUTPUT ${packed}
      COMMAND gzip -9 -n -c $<TARGET_FILE:berth_guard_shim> > ${packed}
      DEPENDS berth_guard_shim
      VERBATIM)
  else()
    file(WRITE ${packed} "")
  endif()
  target_sources(berth_guard PRIVATE ${packed})
  set_source_files_properties(
    ${CMAKE_SOURCE_DIR}/src/guard/shim_template.S
    PROPERTIES OBJECT_DEPENDS ${packed} COMPILE_OPTIONS "-Wa,-I,${CMAKE_BINARY_DIR}/guard")
endfunction()
