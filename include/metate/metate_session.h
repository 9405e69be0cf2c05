/* A kernel or a graph run by steps, by the names of its arguments: set_input, run, get_output. Part of libmetate; the conventions
 * are those of metate.h. */
#ifndef METATE_METATE_SESSION_H
#define METATE_METATE_SESSION_H

#include "metate/metate.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct metate_session metate_session; /* a kernel and what its arguments are now */

/* Without arguments yet. It borrows the kernel: close it before the kernel's module. For one thread at a time. */
METATE_API metate_status metate_session_open(const metate_kernel *kernel, metate_session **session);
/* An argument, a result of the kernel among them, until another one takes its place. What it says is copied, its array's shape
 * and strides among that; the memory that it leads to (data of an array, elements of a vector, a tree) is borrowed: run reads
 * and writes it where it is. METATE_E_NOT_FOUND: the kernel has no argument of that name. */
METATE_API metate_status metate_session_set_input(metate_session *session, const char *name,
                                                  const metate_argument *argument);
/* A launch with these arguments: metate_kernel_launch_with, whose options may be NULL. METATE_E_INVALID_ARGUMENT names one
 * that is not set. */
METATE_API metate_status metate_session_run(metate_session *session,
                                            const metate_launch_options *options);
/* The argument that was set: its memory is the caller's own, where run has written. It lives until it is set again. */
METATE_API metate_status metate_session_get_output(const metate_session *session, const char *name,
                                                   metate_argument *argument);
METATE_API metate_status metate_session_close(metate_session *session);

#ifdef __cplusplus
}
#endif

#endif
