/* The numbers of an invocation, of CUDA. */
#include <stdint.h>

uint64_t metate_grid_invocation(void) {
  return (uint64_t)__nvvm_read_ptx_sreg_ctaid_x() * __nvvm_read_ptx_sreg_ntid_x() +
         __nvvm_read_ptx_sreg_tid_x();
}

uint64_t metate_grid_invocations(void) {
  return (uint64_t)__nvvm_read_ptx_sreg_nctaid_x() * __nvvm_read_ptx_sreg_ntid_x();
}
