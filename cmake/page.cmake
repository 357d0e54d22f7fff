# berth_page(LIBRARY): the web page, bundled by npm's esbuild from web/ into build/NAME/page/dist, for
# the .incbin in serve/page/page.S. Without npm or its registry "/" explains that instead; so it does
# in builds for unit tests, which need no page.

function(berth_page library)
  set(web ${CMAKE_SOURCE_DIR}/web)
  set(page ${CMAKE_BINARY_DIR}/page)
  set(dist ${page}/dist)
  set(files)
  foreach(name index.html page.js page.css icon.svg)
    list(APPEND files ${dist}/${name}.gz ${dist}/${name}.etag)
  endforeach()
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${web}/src/*.ts ${web}/src/*.css
       ${web}/lab/*.ts ${web}/lab/*.css)

  set(npm "")
  if(CMAKE_BUILD_TYPE STREQUAL "Release")
    find_program(NPM npm)
    find_program(NODE NAMES node nodejs)
    if(NPM AND NODE)
      set(npm ${NPM})
    else()
      message(STATUS "berth: without its web page: there is no npm here")
    endif()
  endif()
  # The registry could not be reached last time: another configuration is another try.
  if(EXISTS ${page}/absent)
    file(REMOVE_RECURSE ${page})
  endif()

  add_custom_command(
    OUTPUT ${files}
    COMMAND ${CMAKE_COMMAND} -D WEB=${web} -D PAGE=${page} -D NPM=${npm} -D NODE=${NODE}
            -P ${CMAKE_SOURCE_DIR}/cmake/build_page.cmake
    DEPENDS ${sources} ${web}/index.html ${web}/absent.html ${web}/icon.svg ${web}/build.mjs
            ${web}/package.json ${web}/package-lock.json
            ${CMAKE_SOURCE_DIR}/cmake/build_page.cmake
    COMMENT "Bundling the page"
    VERBATIM)
  target_sources(berth_${library} PRIVATE ${files})
  set_source_files_properties(
    ${CMAKE_SOURCE_DIR}/src/serve/page/page.S
    PROPERTIES OBJECT_DEPENDS "${files}" COMPILE_OPTIONS "-Wa,-I,${dist}")
endfunction()
