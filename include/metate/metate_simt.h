/* libmetate_simt: this machine's CPU as a device that runs kernels invocation by invocation, in memory that the host does not reach:
 * what the code of devices is tested on where there is none. Optional and separate: libmetate never links it. */
#ifndef METATE_METATE_SIMT_H
#define METATE_METATE_SIMT_H

#include "metate/metate.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A device as of metate_device_open. Memory of its own may be touched while it reads, writes or launches: whoever dereferences an
 * address of it crashes. The environment variable METATE_SIMT_THREADS says how many threads run the invocations of a task; without
 * it they run one after the other, on the calling thread. */
METATE_API metate_status metate_simt_device_open(const metate_device_hooks *hooks,
                                                 metate_device **device);

#ifdef __cplusplus
}
#endif

#endif
