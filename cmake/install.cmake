# cmake --install: the program, its man page and its completions where Debian and others look for
# them. The program writes the last two itself, so they cannot disagree with it. And the recipes, and
# the library, for find_package(berth) and for pkg-config: each a component, as Debian's package has
# the program alone.

set(CMAKE_INSTALL_DEFAULT_COMPONENT_NAME program)
if(TARGET berth)
  install(TARGETS berth RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})

  # A build with sanitizers or for tests needs none of this.
  if(CMAKE_BUILD_TYPE STREQUAL "Release" AND NOT CMAKE_CROSSCOMPILING)
    set(pages ${CMAKE_BINARY_DIR}/share)
    set(generated ${pages}/berth.1 ${pages}/berth.bash ${pages}/_berth ${pages}/berth.fish)
    add_custom_command(
      OUTPUT ${generated}
      COMMAND ${CMAKE_COMMAND} -E make_directory ${pages}
      COMMAND ${CMAKE_COMMAND} -E env BERTH_LANG=en $<TARGET_FILE:berth> --man > ${pages}/berth.1
      COMMAND ${CMAKE_COMMAND} -E env BERTH_LANG=en $<TARGET_FILE:berth> --completions bash > ${pages}/berth.bash
      COMMAND ${CMAKE_COMMAND} -E env BERTH_LANG=en $<TARGET_FILE:berth> --completions zsh > ${pages}/_berth
      COMMAND ${CMAKE_COMMAND} -E env BERTH_LANG=en $<TARGET_FILE:berth> --completions fish > ${pages}/berth.fish
      DEPENDS berth
      VERBATIM)
    add_custom_target(pages ALL DEPENDS ${generated})

    install(FILES ${pages}/berth.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
    install(FILES ${pages}/berth.bash RENAME berth
            DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)
    install(FILES ${pages}/_berth DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions)
    install(FILES ${pages}/berth.fish
            DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d)
  endif()
endif()

install(DIRECTORY ${CMAKE_SOURCE_DIR}/examples/recipes
        DESTINATION ${CMAKE_INSTALL_DATADIR}/berth FILES_MATCHING PATTERN "*.py")
install(FILES ${CMAKE_SOURCE_DIR}/LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})

# The targets berth::berth and berth::static, wherever the prefix is moved to.
set(CMAKE_INSTALL_DEFAULT_COMPONENT_NAME library)
if(TARGET berth_static)
  install(TARGETS berth_shared berth_static EXPORT berth)
  install(FILES include/berth/berth.h include/berth/berth.hpp include/berth/torch.h
                include/berth/values.hpp
          DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/berth)
  set(package ${CMAKE_INSTALL_LIBDIR}/cmake/berth)
  install(EXPORT berth FILE berthConfig.cmake NAMESPACE berth:: DESTINATION ${package})
  include(CMakePackageConfigHelpers)
  write_basic_package_version_file(${CMAKE_BINARY_DIR}/berthConfigVersion.cmake
                                   COMPATIBILITY SameMinorVersion)
  install(FILES ${CMAKE_BINARY_DIR}/berthConfigVersion.cmake DESTINATION ${package})
  file(RELATIVE_PATH BERTH_PREFIX /prefix/${CMAKE_INSTALL_LIBDIR}/pkgconfig /prefix)
  configure_file(cmake/berth.pc.in ${CMAKE_BINARY_DIR}/berth.pc @ONLY)
  install(FILES ${CMAKE_BINARY_DIR}/berth.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
endif()
