// A module that is open on a device with the tool's hooks, and the inputs of the kernels that run: what `run` and `bench` share.
#ifndef METATE_RUN_SESSION_H
#define METATE_RUN_SESSION_H

#include "guard.h"
#include "inputs.h"
#include "options.h"

#include <functional>
#include <map>
#include <memory>
#include <set>

namespace metate::tool {

class Session {
public:
  /// Opens the module. Throws Error and Exception, as all functions here.
  explicit Session(const Options &options);
  ~Session();

  /// What launches a kernel on its inputs, which are made where they are not yet there.
  std::function<void()> launcher(const std::string &kernel);
  /// Arguments that kernels which were asked for have written, in the order of their names.
  const std::map<std::string, Input> &inputs() const { return made; }
  bool isWritten(const std::string &name) const { return written.count(name); }
  /// An array, or a tree's member ("f.a") as a dense array. `option` is for messages.
  Array elementsOf(const std::string &option, const std::string &name) const;
  /// Throws where an input was named that no kernel takes.
  void requireAllUsed() const;

private:
  struct Hooks;
  const Options &options;
  std::unique_ptr<Hooks> hooks; // outlives the device
  void *library = nullptr;      // of a file that is a shared library; it stays loaded
  std::optional<Device> device;
  std::optional<Module> module;
  std::map<std::string, Input> made;
  std::set<std::string> written;

  const metate_executor &executor() const; // all null: there is none
  Input &inputFor(const metate_argument_description &argument);
  std::function<void()> directLauncher(const Kernel &kernel,
                                       std::vector<metate_argument> arguments);
  std::function<void()> packedLauncher(const Kernel &kernel);
};

/// Compares results with what --expect says: one line for each, and whether all are as expected.
struct Expectation {
  std::string name, text; // text: "" as expected, else what is different
};
std::vector<Expectation> compareExpected(const Options &options, const Session &session);

} // namespace metate::tool

#endif
