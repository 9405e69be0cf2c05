// The memory of a Python object, held by its buffer protocol.
#ifndef METATE_BINDINGS_RUNTIME_BUFFERVIEW_H
#define METATE_BINDINGS_RUNTIME_BUFFERVIEW_H

#include <Python.h>
#include <utility>

namespace metate::python {

/// Owns a Py_buffer and releases it: `if (BufferView view(object, PyBUF_SIMPLE); view) use(view->buf);`.
class BufferView {
public:
  BufferView() = default;
  /// Without a view, Python's error says why.
  BufferView(PyObject *object, int flags) {
    if (PyObject_GetBuffer(object, &view, flags) != 0)
      view.obj = nullptr;
  }
  BufferView(BufferView &&other) noexcept : view(std::exchange(other.view, {})) {}
  BufferView &operator=(BufferView &&other) noexcept {
    std::swap(view, other.view);
    return *this;
  }
  ~BufferView() { release(); }

  explicit operator bool() const { return view.obj != nullptr; }
  const Py_buffer *operator->() const { return &view; }
  const Py_buffer &operator*() const { return view; }
  /// Gives the memory back before the end; nothing without a view.
  void release() { PyBuffer_Release(&view); }

private:
  Py_buffer view{};
};

} // namespace metate::python

#endif
