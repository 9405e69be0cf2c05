# libmetate, stripped, stays within 300 KiB.
execute_process(COMMAND ${STRIP} -o ${OUT} ${FILE} COMMAND_ERROR_IS_FATAL ANY)
file(SIZE ${OUT} bytes)
if(bytes GREATER 307200)
  message(FATAL_ERROR "libmetate: expected at most 307200 bytes stripped, got ${bytes}")
endif()
message(STATUS "libmetate: ${bytes} bytes stripped")
