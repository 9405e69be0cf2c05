/* libmetate_threads: a device's executor of std::thread. Optional and separate: libmetate never
 * links it. It needs the C++ library alone, and ThreadSanitizer understands it. */
#ifndef METATE_METATE_THREADS_H
#define METATE_METATE_THREADS_H

#include "metate/metate.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The cores that this process may run on, and has time of (in a container with a bound); 1 at least. */
METATE_API uint32_t metate_threads_cores(void);

/* Fills *executor for metate_device_hooks. threads: most workers, the calling thread included;
 * 0 = metate_threads_cores(). The caller of parallel_for works too. The other threads look for work
 * for 100 us after each loop, then sleep; while they look, they also take parts of loops that are
 * shorter than what a thread is woken for. Where the system refuses some of the threads, the others
 * do the work; METATE_E_OUT_OF_MEMORY when it refuses all. They get no signals from elsewhere. After a
 * fork the new process has none of the threads, and its loops run on their callers.
 * Must outlive the devices that were opened with it. */
METATE_API metate_status metate_threads_executor_create(uint32_t threads,
                                                        metate_executor *executor);
/* Takes what create filled; NULL does nothing. */
METATE_API void metate_threads_executor_destroy(metate_executor *executor);

#ifdef __cplusplus
}
#endif

#endif
