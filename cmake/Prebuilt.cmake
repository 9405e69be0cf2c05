# METATE_PREBUILT=FOLDER: installs what a build folder has, by its own install rules, and builds nothing. For wheels of
# binaries that were built and tested before.
if(NOT EXISTS ${METATE_PREBUILT}/cmake_install.cmake)
  message(FATAL_ERROR "METATE_PREBUILT: expected a folder that was configured and built, got ${METATE_PREBUILT}")
endif()
set(components runtime python)
if(METATE_COMPILER)
  list(APPEND components python_compiler stubs)
endif()
foreach(component ${components})
  install(CODE "execute_process(COMMAND ${CMAKE_COMMAND} --install ${METATE_PREBUILT} --component ${component} --strip
    --prefix \${CMAKE_INSTALL_PREFIX} OUTPUT_QUIET COMMAND_ERROR_IS_FATAL ANY)" COMPONENT ${component})
endforeach()
