// What metate/builder.hpp hides: the compiler's own builder behind each class, and how errors of it become exceptions.
#ifndef METATE_BINDINGS_CPP_STATE_H
#define METATE_BINDINGS_CPP_STATE_H

#include "metate/Frontend/KernelBuilder.h"
#include "metate/Jit/Jit.h"
#include "metate/builder.hpp"

#include <optional>

namespace metate::builder::detail {

/// Values keep it alive, so that those of a kernel that has been written are told from those of the one at hand.
struct KernelState : std::enable_shared_from_this<KernelState> {
  /// Throws when the kernel has been written.
  frontend::KernelBuilder &builder();
  std::optional<frontend::KernelBuilder> writer;
  std::string name;
  Where at;                               // of what is being written
  std::map<std::string, Where> arguments; // and results, by name: where they are declared
};

struct ModuleState {
  explicit ModuleState(const std::string &name) : source(name) {}
  frontend::SourceModule source;
};

struct PlaceState {
  frontend::Reference reference;
};

struct CodeState {
  std::unique_ptr<Jit> home;
  std::unique_ptr<JitModule> code;
};

/// Goes between the classes of the header and the compiler's. Each function that writes says where first: `begin`.
struct Access {
  static void begin(KernelState &kernel, Where where);
  /// Throws what the builder has to say.
  static void check(KernelState &kernel);
  [[noreturn]] static void fail(Where where, const std::string &text);

  static frontend::DataType native(Type type);
  static Type shown(const frontend::DataType &type);
  static Value value(KernelState &kernel, const frontend::KernelValue &native);
  static frontend::KernelValue native(const Value &value);
  static Place place(KernelState &kernel, const frontend::Reference &native);
  static const frontend::Reference &native(const Place &place);
  /// Of a place that is used where the kernel is being written: throws behind the loop or the branch that it belongs to.
  static const frontend::Reference &usable(const Place &place);
  static void checkVisible(KernelState &kernel, mlir::Value value, Where where);
  /// Each argument, and the result, has a name of its own.
  static void claim(KernelState &kernel, const std::string &name, Where where);
  static frontend::KernelArray native(const Array &array);
  static frontend::KernelTree native(const Tree &tree);
  /// Whose it is. Throws for an array or a tree that nothing was assigned to.
  static KernelState &kernelOf(const Array &array, std::initializer_list<Operand> indices = {});
  static KernelState &kernelOf(const Tree &tree, std::initializer_list<Operand> indices = {});
  static Array array(KernelState &kernel, const frontend::KernelArray &native);
  static Tree tree(KernelState &kernel, const frontend::KernelTree &native);

  static Where whereOf(const Operand &operand) { return operand.where; }
  static Where whereOf(const Shown &shown) { return shown.where; }
  /// Whose operand it is; null of a number.
  static KernelState *kernelOf(const Operand &operand);
  /// Its value: loads a place, makes a constant of a number.
  static frontend::KernelValue resolve(KernelState &kernel, const Operand &operand);
  static std::vector<frontend::KernelValue> resolve(KernelState &kernel,
                                                    std::initializer_list<Operand> operands);
  static frontend::KernelBuilder::PrintPart part(KernelState &kernel, const Shown &shown);
};

/// The kernel of one of the operands. Throws for numbers alone, and for operands of two kernels.
KernelState &commonKernel(std::initializer_list<const Operand *> operands);

} // namespace metate::builder::detail

#endif
