/* libmetate_tbb: oneTBB as a device's executor. Optional and separate: libmetate never links it. */
#ifndef METATE_METATE_TBB_H
#define METATE_METATE_TBB_H

#include "metate/metate.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Fills *executor for metate_device_hooks. threads: most workers, the calling thread included;
 * 0 = as many as oneTBB uses by default (the cores this process may run on). The caller of
 * parallel_for works too. Must outlive the devices that were opened with it. */
METATE_API metate_status metate_tbb_executor_create(uint32_t threads, metate_executor *executor);
/* Takes what create filled; NULL does nothing. */
METATE_API void metate_tbb_executor_destroy(metate_executor *executor);

#ifdef __cplusplus
}
#endif

#endif
