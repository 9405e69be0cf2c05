# What is installed, under one prefix: lib/ (libmetate, its executors, drivers of devices, a CMake package), include/, bin/ (metate-run):
# the component `runtime`. The extensions, at the top of the prefix, are bindings' (the components `python`, `python_compiler`, `stubs`): in a
# wheel the prefix is the package metate_native. Nothing here is built.
install(DIRECTORY ${CMAKE_SOURCE_DIR}/include/metate ${CMAKE_SOURCE_DIR}/abi/metate DESTINATION include
  COMPONENT runtime FILES_MATCHING PATTERN "*.h" PATTERN "*.hpp" PATTERN "builder.hpp" EXCLUDE)

set(METATE_INSTALLED metate_abi metate_headers metate metate_cpp)
foreach(part metate_tbb metate_threads metate_packed metate_signature metate_simt metate_cuda metate_vulkan)
  if(TARGET ${part})
    list(APPEND METATE_INSTALLED ${part})
  endif()
endforeach()
install(TARGETS ${METATE_INSTALLED} EXPORT metate LIBRARY DESTINATION lib COMPONENT runtime)

# The packages for CMake and pkg-config; both find everything from where they stand.
set(package lib/cmake/metate)
install(EXPORT metate NAMESPACE metate:: FILE metateTargets.cmake DESTINATION ${package} COMPONENT runtime)
include(CMakePackageConfigHelpers)
write_basic_package_version_file(${CMAKE_BINARY_DIR}/metateConfigVersion.cmake
  VERSION ${PROJECT_VERSION} COMPATIBILITY SameMinorVersion)
configure_package_config_file(${CMAKE_CURRENT_LIST_DIR}/metateConfig.cmake.in ${CMAKE_BINARY_DIR}/metateConfig.cmake
  INSTALL_DESTINATION ${package})
install(FILES ${CMAKE_BINARY_DIR}/metateConfig.cmake ${CMAKE_BINARY_DIR}/metateConfigVersion.cmake
  ${CMAKE_CURRENT_LIST_DIR}/metateAddModule.cmake DESTINATION ${package} COMPONENT runtime)
configure_file(${CMAKE_CURRENT_LIST_DIR}/metate.pc.in ${CMAKE_BINARY_DIR}/metate.pc @ONLY)
install(FILES ${CMAKE_BINARY_DIR}/metate.pc DESTINATION lib/pkgconfig COMPONENT runtime)

# The component `compiler`: for C++ programs that write kernels. Wheels go without: Python has the compiler as an extension.
if(TARGET metate_compiler)
  install(FILES ${CMAKE_SOURCE_DIR}/include/metate/builder.hpp DESTINATION include/metate COMPONENT compiler)
  set_target_properties(metate_compiler PROPERTIES INSTALL_RPATH_USE_LINK_PATH ON)
  install(TARGETS metate_compiler EXPORT metate_compiler LIBRARY DESTINATION lib COMPONENT compiler)
  install(EXPORT metate_compiler NAMESPACE metate:: FILE metateCompilerTargets.cmake DESTINATION ${package} COMPONENT compiler)
endif()

set_target_properties(metate-run PROPERTIES INSTALL_RPATH "$ORIGIN/../lib")
install(TARGETS metate-run RUNTIME DESTINATION bin COMPONENT runtime)
