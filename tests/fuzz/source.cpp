// Fuzz target: the text of kernels through the front end. Python is embedded, source_target.py does
// the work; this file hands bytes over, reports what it raises, and gives libFuzzer the counters
// of the walker's blocks. Only libFuzzer's build has it: tests replay the corpus from Python.
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <initializer_list>

extern "C" size_t LLVMFuzzerMutate(uint8_t *data, size_t bytes, size_t most);

namespace {

// libFuzzer reads and clears these like counters of compiled code.
__attribute__((section("__libfuzzer_extra_counters"), used)) uint8_t counters[32768];

PyObject *run, *mutate, *report;

[[noreturn]] void fail() {
  if (PyErr_Occurred())
    PyErr_Print();
  std::fprintf(stderr, "finding: see the traceback above\n");
  std::abort();
}

PyObject *require(PyObject *object) {
  if (!object)
    fail();
  return object;
}

void start() {
  PyConfig config;
  PyConfig_InitPythonConfig(&config);
  config.install_signal_handlers = 0; // libFuzzer's
  PyStatus status = PyConfig_SetBytesString(&config, &config.program_name, METATE_PYTHON_PROGRAM);
  if (!PyStatus_Exception(status))
    status = Py_InitializeFromConfig(&config);
  if (PyStatus_Exception(status))
    Py_ExitStatusException(status);
  PyConfig_Clear(&config);
  PyObject *path = PySys_GetObject("path");
  for (const char *folder : {METATE_EXTENSIONS, METATE_PACKAGE, METATE_FUZZ_FOLDER}) {
    PyObject *text = require(PyUnicode_FromString(folder));
    PyList_Insert(path, 0, text);
    Py_DECREF(text);
  }
  PyObject *module = require(PyImport_ImportModule("source_fuzzer"));
  auto *bytes = reinterpret_cast<char *>(counters);
  PyObject *view = require(PyMemoryView_FromMemory(bytes, sizeof counters, PyBUF_WRITE));
  PyObject *functions = require(PyObject_CallMethod(module, "start", "O", view));
  run = require(PyTuple_GetItem(functions, 0));
  mutate = require(PyTuple_GetItem(functions, 1));
  report = require(PyTuple_GetItem(functions, 2));
  std::atexit([] { Py_XDECREF(PyObject_CallNoArgs(report)); });
}

const char *chars(const uint8_t *data) { return reinterpret_cast<const char *>(data); }

} // namespace

extern "C" int LLVMFuzzerInitialize(int *, char ***) {
  start();
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes) {
  PyObject *accepted = PyObject_CallFunction(run, "y#", chars(data), Py_ssize_t(bytes));
  if (!accepted)
    fail();
  bool skipped = accepted == Py_None; // not run: keep it out of the corpus
  Py_DECREF(accepted);
  return skipped ? -1 : 0;
}

// Three of four mutations keep the text Python; the others are libFuzzer's, with its dictionary.
extern "C" size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t bytes, size_t most, unsigned seed) {
  if (seed % 4 == 0)
    return LLVMFuzzerMutate(data, bytes, most);
  PyObject *changed =
      PyObject_CallFunction(mutate, "y#nI", chars(data), Py_ssize_t(bytes), Py_ssize_t(most), seed);
  char *text = nullptr;
  Py_ssize_t length = 0;
  if (!changed || PyBytes_AsStringAndSize(changed, &text, &length) != 0)
    fail();
  size_t count = size_t(length) < most ? size_t(length) : most;
  std::memcpy(data, text, count);
  Py_DECREF(changed);
  return count;
}
