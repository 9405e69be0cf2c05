// The bytes of arrays that the package has made: the host's, and a device's too where kernels on it use them. Which of the
// two were changed last is known, so that bytes are copied when the other side asks for them, and not with each launch.
#ifndef METATE_BINDINGS_RUNTIME_ARRAYMEMORY_H
#define METATE_BINDINGS_RUNTIME_ARRAYMEMORY_H

#include "BufferView.h"
#include "Device.h"

namespace metate::python {

/// Everything here needs the GIL.
class ArrayMemory {
public:
  /// Of `owner`, which offers a writable buffer without gaps. Throws.
  explicit ArrayMemory(nb::handle owner);
  ~ArrayMemory() { drop(); }
  ArrayMemory(const ArrayMemory &) = delete;
  ArrayMemory &operator=(const ArrayMemory &) = delete;

  /// Where kernels of the device find what the host finds at `place`; `writes`: this launch may change it. Throws.
  void *placeFor(const std::shared_ptr<Device> &device, void *place, bool writes);
  /// The host's bytes become what they would be, had everything run there. Throws.
  void toHost();
  /// As toHost, of a few of them: for an element.
  void refresh(void *place, size_t bytes);
  /// The host is about to change them, or whole of them (then nobody needs to know what they were).
  void changeAtHost(bool isWhole = false);
  /// The host has changed a few, which were refreshed before.
  void push(const void *place, size_t bytes);

  /// While others have a view of the host's bytes, kernels' arrays are copied for each launch: nobody says when they change.
  void beginView();
  void endView() { --views; }

  uint64_t bytes() const { return uint64_t(view->len); }

private:
  enum class Newest { host, both, device };

  uint64_t offsetOf(const void *place) const {
    return uint64_t(static_cast<const char *>(place) - static_cast<const char *>(view->buf));
  }
  bool make(const std::shared_ptr<Device> &device);
  void drop();

  BufferView view;
  Newest newest = Newest::host;
  uint32_t views = 0;
  std::shared_ptr<Device> device; // that `mirror` is of
  metate_memory *mirror = nullptr;
  char *data = nullptr; // of the mirror: not for the host
};

} // namespace metate::python

#endif
