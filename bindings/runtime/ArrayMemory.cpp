// Copies between an array's two memories, when they are needed.
#include "ArrayMemory.h"

namespace metate::python {

ArrayMemory::ArrayMemory(nb::handle owner)
    : view(owner.ptr(), PyBUF_C_CONTIGUOUS | PyBUF_WRITABLE) {
  if (!view)
    throw nb::python_error();
}

void ArrayMemory::drop() {
  if (mirror)
    metate_memory_destroy(mirror);
  mirror = nullptr;
  device.reset();
}

/// Memory on the device; false: it has none left, and copies for a launch may find some.
bool ArrayMemory::make(const std::shared_ptr<Device> &wanted) {
  if (mirror)
    return true;
  metate_status status = metate_memory_create(wanted->get(), bytes(), METATE_BLOCK_ALIGN, &mirror);
  if (status == METATE_E_OUT_OF_MEMORY)
    return false;
  check(status);
  device = wanted;
  newest = Newest::host;
  metate_memory_info info{};
  info.struct_size = sizeof info;
  check(metate_memory_describe(mirror, &info));
  data = static_cast<char *>(info.data);
  return true;
}

void *ArrayMemory::placeFor(const std::shared_ptr<Device> &wanted, void *place, bool writes) {
  if (device && !device->isBeside(*wanted)) {
    toHost();
    drop();
    newest = Newest::host;
  }
  if (views || !wanted->hasOwnMemory() || view->len == 0 || !make(wanted)) {
    toHost();
    if (writes)
      newest = Newest::host;
    return place;
  }
  if (newest == Newest::host)
    check(metate_memory_write(mirror, 0, view->buf, bytes()));
  newest = writes || newest == Newest::device ? Newest::device : Newest::both;
  return data + offsetOf(place);
}

void ArrayMemory::toHost() {
  if (newest != Newest::device)
    return;
  check(metate_memory_read(mirror, 0, view->buf, bytes()));
  newest = Newest::both;
}

void ArrayMemory::refresh(void *place, size_t bytes) {
  if (newest == Newest::device)
    check(metate_memory_read(mirror, offsetOf(place), place, bytes));
}

void ArrayMemory::push(const void *place, size_t bytes) {
  if (newest != Newest::host)
    check(metate_memory_write(mirror, offsetOf(place), place, bytes));
}

void ArrayMemory::changeAtHost(bool isWhole) {
  if (!isWhole)
    toHost();
  newest = Newest::host;
}

void ArrayMemory::beginView() {
  changeAtHost();
  ++views;
}

} // namespace metate::python
