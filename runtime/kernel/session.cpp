// Sessions: a launch whose arguments are given one by one, by name.
#include "metate/metate_session.h"

#include "kernel/kernel.h"

#include <cstdio>
#include <cstring>

using namespace metate;

struct metate_session {
  // An argument as the session keeps it.
  struct Kept {
    metate_array array;
    int64_t shape[METATE_MAX_RANK], strides[METATE_MAX_RANK];
  };

  const metate_kernel *kernel;
  metate_device *owner;       // what closing needs: the kernel may be gone by then
  uint32_t number;            // of arguments
  metate_argument *arguments; // kind 0: not set
  Kept *kept;                 // of arrays

  explicit metate_session(const metate_kernel *kernel)
      : kernel(kernel), owner(kernel->device), number(kernel->info->argument_count),
        arguments(nullptr), kept(nullptr) {}
  uint32_t count() const { return number; }
  metate_device &device() const { return *owner; }
};

static void destroy(metate_session *session) {
  metate_device &device = session->device();
  const uint64_t count = session->count();
  device.release(session->arguments, count * sizeof *session->arguments, 8);
  device.release(session->kept, count * sizeof *session->kept, 8);
  device.drop(session);
}

static metate_status findArgument(const metate_session &session, const char *name,
                                  uint32_t *index) {
  char known[400] = "none";
  size_t used = 0;
  for (uint32_t k = 0; k < session.count(); ++k) {
    const char *own = session.kernel->argumentName(k);
    if (strcmp(own, name) == 0) {
      *index = k;
      return METATE_OK;
    }
    const int length = snprintf(known + used, sizeof known - used, "%s%s", used ? ", " : "", own);
    used += length > 0 && used + size_t(length) < sizeof known ? size_t(length) : 0;
  }
  return fail(METATE_E_NOT_FOUND, "kernel '%s' has no argument '%s'; it has %s",
              session.kernel->name, name, known);
}

metate_status metate_session_open(const metate_kernel *kernel, metate_session **session) {
  METATE_REQUIRE(kernel);
  METATE_REQUIRE(session);
  METATE_TRY(checkCode(*kernel));
  metate_device &device = *kernel->device;
  auto *made = device.make<metate_session>(kernel);
  if (made) {
    const uint64_t count = made->count();
    made->arguments =
        static_cast<metate_argument *>(device.allocate(count * sizeof(metate_argument), 8));
    made->kept = static_cast<metate_session::Kept *>(
        device.allocate(count * sizeof(metate_session::Kept), 8));
    if (made->arguments && made->kept) {
      memset(static_cast<void *>(made->arguments), 0, count * sizeof(metate_argument));
      device.live.fetch_add(1, std::memory_order_relaxed);
      *session = made;
      return METATE_OK;
    }
    destroy(made);
  }
  return fail(METATE_E_OUT_OF_MEMORY, "the allocator refused memory for a session");
}

metate_status metate_session_set_input(metate_session *session, const char *name,
                                       const metate_argument *argument) {
  METATE_REQUIRE(session);
  METATE_REQUIRE(name);
  METATE_REQUIRE(argument);
  uint32_t index = 0;
  METATE_TRY(findArgument(*session, name, &index));
  const metate_kernel &kernel = *session->kernel;
  const uint32_t expected = kernel.arguments[index].kind;
  if (argument->kind != expected)
    return fail(METATE_E_TYPE_MISMATCH, "kernel '%s' argument %u '%s': expected kind %u, got %u",
                kernel.name, index, name, expected, argument->kind);
  if (argument->kind != METATE_ARGUMENT_SCALAR && !argument->value.array)
    return fail(METATE_E_NULL, "kernel '%s' argument %u '%s' is NULL", kernel.name, index, name);
  metate_argument given = *argument;
  metate_session::Kept &kept = session->kept[index];
  if (given.kind == METATE_ARGUMENT_NDARRAY) {
    const metate_array &array = *given.value.array;
    if (array.rank != kernel.arguments[index].rank)
      return fail(METATE_E_TYPE_MISMATCH,
                  "kernel '%s' argument %u '%s': expected %u dimensions, got %u", kernel.name,
                  index, name, kernel.arguments[index].rank, array.rank);
    if (array.rank && !array.shape)
      return fail(METATE_E_NULL, "kernel '%s' argument %u '%s': its shape is NULL", kernel.name,
                  index, name);
    // The array may be the one that get_output gave.
    kept.array = array;
    if (array.rank) {
      memmove(kept.shape, array.shape, array.rank * sizeof *array.shape);
      kept.array.shape = kept.shape;
    }
    if (array.rank && array.strides) {
      memmove(kept.strides, array.strides, array.rank * sizeof *array.strides);
      kept.array.strides = kept.strides;
    }
    given.value.array = &kept.array;
  }
  session->arguments[index] = given;
  return METATE_OK;
}

metate_status metate_session_run(metate_session *session, const metate_launch_options *options) {
  METATE_REQUIRE(session);
  for (uint32_t k = 0; k < session->count(); ++k)
    if (!session->arguments[k].kind)
      return fail(METATE_E_INVALID_ARGUMENT,
                  "kernel '%s' argument %u '%s' is not set: call metate_session_set_input",
                  session->kernel->name, k, session->kernel->argumentName(k));
  return options ? metate_kernel_launch_with(session->kernel, session->arguments, session->count(),
                                             options)
                 : metate_kernel_launch(session->kernel, session->arguments, session->count());
}

metate_status metate_session_get_output(const metate_session *session, const char *name,
                                        metate_argument *argument) {
  METATE_REQUIRE(session);
  METATE_REQUIRE(name);
  METATE_REQUIRE(argument);
  uint32_t index = 0;
  METATE_TRY(findArgument(*session, name, &index));
  if (!session->arguments[index].kind)
    return fail(METATE_E_INVALID_ARGUMENT, "kernel '%s' argument %u '%s' is not set",
                session->kernel->name, index, name);
  *argument = session->arguments[index];
  return METATE_OK;
}

metate_status metate_session_close(metate_session *session) {
  METATE_REQUIRE(session);
  metate_device &device = session->device();
  destroy(session);
  device.live.fetch_sub(1, std::memory_order_release);
  return METATE_OK;
}
