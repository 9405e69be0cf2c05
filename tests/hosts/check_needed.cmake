# readelf -d: no LLVM, MLIR, Python or oneTBB; the library itself needs the C library alone.
execute_process(COMMAND ${READELF} -d ${FILE} OUTPUT_VARIABLE dynamic COMMAND_ERROR_IS_FATAL ANY)
string(REGEX MATCHALL "NEEDED[^\n]*" lines "${dynamic}")
foreach(line ${lines})
  if(line MATCHES "LLVM|MLIR|clang|python|tbb|xxhash")
    message(FATAL_ERROR "${FILE}: ${line}")
  endif()
  # libm and the loader are parts of the C library.
  if(LIBRARY AND NOT line MATCHES "lib(c|m)\\.so|ld-linux|ld-musl")
    message(FATAL_ERROR "${FILE} needs more than the C library: ${line}")
  endif()
endforeach()
message(STATUS "${FILE}: ${lines}")
