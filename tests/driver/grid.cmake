# Devices of grids: what their drivers share, what each must do, and a GPU whose driver is a fake.
add_library(metate_grid_kernels MODULE grid_kernels.c)
add_library(metate_fake_cuda MODULE fake_cuda.cpp fake_cuda_code.cpp)
add_library(metate_fake_cuda_incomplete MODULE fake_cuda.cpp fake_cuda_code.cpp)
target_compile_definitions(metate_fake_cuda_incomplete PRIVATE FAKE_CUDA_INCOMPLETE)
target_link_libraries(metate_grid_kernels PRIVATE metate_abi)
if(METATE_SANITIZE) # as foreign code is
  foreach(foreign metate_grid_kernels metate_fake_cuda metate_fake_cuda_incomplete)
    target_compile_options(${foreign} PRIVATE -fno-sanitize=all)
    target_link_options(${foreign} PRIVATE -fno-sanitize=all)
  endforeach()
endif()
# As text for a GPU, if there is one, and a compiler that writes it.
set(METATE_GRID_TEXT ${CMAKE_CURRENT_BINARY_DIR}/grid_kernels.ptx)
if(CMAKE_C_COMPILER_ID STREQUAL "Clang" AND NOT METATE_SANITIZE)
  add_custom_command(OUTPUT ${METATE_GRID_TEXT}
    COMMAND ${CMAKE_C_COMPILER} --target=nvptx64-nvidia-cuda -march=sm_70 --cuda-feature=+ptx70
      -std=c11 -O2 -ffreestanding -I${CMAKE_SOURCE_DIR}/abi -S -o ${METATE_GRID_TEXT} ${CMAKE_CURRENT_SOURCE_DIR}/grid_kernels.c
    DEPENDS grid_kernels.c ${CMAKE_SOURCE_DIR}/abi/metate/abi/grid.h ${CMAKE_SOURCE_DIR}/abi/metate/abi/kernel.h)
  add_custom_target(metate_grid_text DEPENDS ${METATE_GRID_TEXT})
endif()
# As SPIR-V, by the compiler's emitter, for Mesa's CPU.
set(METATE_GRID_WORDS ${CMAKE_CURRENT_BINARY_DIR}/grid_kernels.spv)
if(METATE_COMPILER AND TARGET metate_vulkan AND CMAKE_C_COMPILER_ID STREQUAL "Clang")
  set(code ${CMAKE_CURRENT_BINARY_DIR}/grid_kernels.ll)
  add_custom_command(OUTPUT ${METATE_GRID_WORDS} ${METATE_GRID_WORDS}.constants
    COMMAND ${CMAKE_C_COMPILER} -DGRID_SPIRV -std=c11 -O2 -ffreestanding -fno-vectorize -fno-slp-vectorize
      -I${CMAKE_SOURCE_DIR}/abi -S -emit-llvm -o ${code} ${CMAKE_CURRENT_SOURCE_DIR}/grid_kernels.c
    COMMAND metate-spirv ${code} ${METATE_GRID_WORDS} --lavapipe --constants=${METATE_GRID_WORDS}.constants fill:64 check:64
      check_copy:64 say flood total total_put pooled count:32 stop stop_ask crash look:64
    DEPENDS metate-spirv grid_kernels.c ${CMAKE_SOURCE_DIR}/abi/metate/abi/grid.h ${CMAKE_SOURCE_DIR}/abi/metate/abi/kernel.h)
  add_custom_target(metate_grid_words DEPENDS ${METATE_GRID_WORDS})
endif()

set(grid ${CMAKE_SOURCE_DIR}/runtime/driver/grid)
add_executable(grid_test grid_test.cpp grid_device_test.cpp cuda_test.cpp grid_module.cpp ${grid}/section.cpp ${grid}/payload.cpp
  ${grid}/expression.cpp ${grid}/runs.cpp ${grid}/shape.cpp ${grid}/frame.cpp ${grid}/prints.cpp ${grid}/ranges.cpp ${grid}/times.cpp ${grid}/support.cpp)
target_include_directories(grid_test PRIVATE ${CMAKE_SOURCE_DIR}/tests/unit ${CMAKE_SOURCE_DIR}/runtime)
target_link_libraries(grid_test PRIVATE metate_test_support metate_simt metate_cuda GTest::gtest GTest::gtest_main ${CMAKE_DL_LIBS})
target_compile_definitions(grid_test PRIVATE METATE_GRID_KERNELS="$<TARGET_FILE:metate_grid_kernels>"
  METATE_GRID_TEXT="${METATE_GRID_TEXT}"
  METATE_FAKE_CUDA="$<TARGET_FILE:metate_fake_cuda>" METATE_FAKE_CUDA_INCOMPLETE="$<TARGET_FILE:metate_fake_cuda_incomplete>")
add_dependencies(grid_test metate_grid_kernels metate_fake_cuda metate_fake_cuda_incomplete)
foreach(code metate_grid_text metate_grid_words)
  if(TARGET ${code})
    add_dependencies(grid_test ${code})
  endif()
endforeach()
if(TARGET metate_vulkan)
  target_sources(grid_test PRIVATE vulkan_test.cpp vulkan_recording_test.cpp vulkan_liar_test.cpp)
  add_library(metate_fake_vulkan MODULE fake_vulkan.cpp)
  target_include_directories(metate_fake_vulkan SYSTEM PRIVATE ${VULKAN_INCLUDE_DIR})
  target_link_libraries(metate_fake_vulkan PRIVATE ${CMAKE_DL_LIBS})
  if(METATE_SANITIZE)
    target_compile_options(metate_fake_vulkan PRIVATE -fno-sanitize=all)
    target_link_options(metate_fake_vulkan PRIVATE -fno-sanitize=all)
  endif()
  add_dependencies(grid_test metate_fake_vulkan)
  target_include_directories(grid_test SYSTEM PRIVATE ${VULKAN_INCLUDE_DIR})
  target_link_libraries(grid_test PRIVATE metate_vulkan)
  target_compile_definitions(grid_test PRIVATE METATE_GRID_WORDS="${METATE_GRID_WORDS}"
    METATE_FAKE_VULKAN="$<TARGET_FILE:metate_fake_vulkan>")
endif()
gtest_discover_tests(grid_test DISCOVERY_TIMEOUT 60)
