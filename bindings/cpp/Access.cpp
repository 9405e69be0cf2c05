// Between the header's classes and the compiler's.
#include "State.h"

using namespace metate::frontend;

namespace metate::builder::detail {

KernelBuilder &KernelState::builder() {
  if (!writer)
    Access::fail(at, "kernel '" + name + "' has been written: its values are for use in it alone");
  return *writer;
}

void Access::fail(Where where, const std::string &text) {
  std::string place =
      where.line() ? std::string(where.file_name()) + ":" + std::to_string(where.line()) + ": "
                   : "";
  throw Error(place + text);
}

void Access::begin(KernelState &kernel, Where where) {
  if (!where.line()) // of a place that is copied: where the statement before stands
    return;
  kernel.at = where;
  kernel.builder().setLocation(where.file_name(), where.line(), where.column());
}

void Access::check(KernelState &kernel) {
  if (auto problem = kernel.builder().diagnostics().takeError())
    fail(kernel.at, "kernel '" + kernel.name + "': " + problem->message +
                        (problem->hint.empty() ? "" : " (" + problem->hint + ")"));
}

DataType Access::native(Type type) {
  constexpr uint64_t most = 1 << 16;
  if (type.rank && (!type.rows || !type.columns || type.rows > most || type.columns > most ||
                    uint64_t(type.rows) * type.columns > most))
    throw Error("a vector or a matrix: expected 1 to 65536 numbers, got " +
                std::to_string(type.rows) +
                (type.rank == 2 ? " x " + std::to_string(type.columns) : ""));
  llvm::SmallVector<int64_t, 2> shape;
  if (type.rank >= 1)
    shape.push_back(type.rows);
  if (type.rank == 2)
    shape.push_back(type.columns);
  return DataType(type.scalar, shape);
}

Type Access::shown(const DataType &type) {
  return {type.scalar, uint32_t(type.shape.size()),
          uint32_t(type.shape.empty() ? 1 : type.shape[0]),
          uint32_t(type.isMatrix() ? type.shape[1] : 1)};
}

Value Access::value(KernelState &kernel, const KernelValue &native) {
  check(kernel);
  Value made;
  made.kernel = kernel.shared_from_this();
  made.ir = native.ir.getAsOpaquePointer();
  made.kind = shown(native.type);
  return made;
}

KernelValue Access::native(const Value &value) {
  return {mlir::Value::getFromOpaquePointer(value.ir), native(value.kind)};
}

Place Access::place(KernelState &kernel, const Reference &native) {
  check(kernel);
  Place made;
  made.kernel = kernel.shared_from_this();
  made.state = std::make_shared<PlaceState>(PlaceState{native});
  return made;
}

const Reference &Access::native(const Place &place) { return place.state->reference; }

KernelArray Access::native(const Array &array) {
  return {mlir::Value::getFromOpaquePointer(array.ir), native(array.of), array.rank};
}

KernelTree Access::native(const Tree &tree) { return {mlir::Value::getFromOpaquePointer(tree.ir)}; }

void Access::checkVisible(KernelState &kernel, mlir::Value value, Where where) {
  if (!value || kernel.builder().sees(value))
    return;
  auto made = value.getLoc()->findInstanceOf<mlir::FileLineColLoc>();
  std::string line = made ? " of line " + std::to_string(made.getLine()) : std::string();
  fail(where, "kernel '" + kernel.name + "': a value" + line +
                  " is used outside of the loop or the branch that it was computed in: store it "
                  "there in a variable that is made before, k.variable(...), and use that");
}

const Reference &Access::usable(const Place &place) {
  const Reference &reference = native(place);
  KernelState &kernel = *place.kernel;
  checkVisible(kernel, reference.base, kernel.at);
  for (mlir::Value index : reference.indices)
    checkVisible(kernel, index, kernel.at);
  for (const KernelValue &component : reference.components)
    checkVisible(kernel, component.ir, kernel.at);
  return reference;
}

void Access::claim(KernelState &kernel, const std::string &name, Where where) {
  begin(kernel, where);
  auto [known, isNew] = kernel.arguments.try_emplace(name, where);
  if (!isNew)
    fail(where, "kernel '" + kernel.name +
                    "': expected a name of its own for each argument, got '" + name +
                    "', which line " + std::to_string(known->second.line()) +
                    " has given to another one");
}

/// Where an array or a tree is used; nothing else says that.
static Where whereOf(std::initializer_list<Operand> indices) {
  return indices.size() ? Access::whereOf(*indices.begin()) : Where();
}

Array Access::array(KernelState &kernel, const KernelArray &native) {
  check(kernel);
  Array made;
  made.kernel = kernel.shared_from_this();
  made.ir = native.ir.getAsOpaquePointer();
  made.of = shown(native.element);
  made.rank = native.rank;
  return made;
}

Tree Access::tree(KernelState &kernel, const KernelTree &native) {
  check(kernel);
  Tree made;
  made.kernel = kernel.shared_from_this();
  made.ir = native.ir.getAsOpaquePointer();
  return made;
}

KernelState &Access::kernelOf(const Array &array, std::initializer_list<Operand> indices) {
  if (!array.kernel)
    fail(detail::whereOf(indices),
         "expected an array of a kernel, got one that nothing was assigned to");
  return *array.kernel;
}

KernelState &Access::kernelOf(const Tree &tree, std::initializer_list<Operand> indices) {
  if (!tree.kernel)
    fail(detail::whereOf(indices),
         "expected a tree of a kernel, got one that nothing was assigned to");
  return *tree.kernel;
}

KernelState *Access::kernelOf(const Operand &operand) {
  if (const auto *value = std::get_if<Value>(&operand.what)) {
    if (!value->kernel)
      fail(operand.where, "expected a value of a kernel, got one that nothing was assigned to");
    return value->kernel.get();
  }
  const auto *place = std::get_if<Place>(&operand.what);
  return place ? place->kernel.get() : nullptr;
}

KernelValue Access::resolve(KernelState &kernel, const Operand &operand) {
  if (KernelState *other = kernelOf(operand); other && other != &kernel)
    fail(operand.where,
         "kernel '" + kernel.name + "': a value of the kernel '" + other->name + "' is used in it");
  begin(kernel, operand.where);
  KernelBuilder &builder = kernel.builder();
  KernelValue found;
  if (const auto *value = std::get_if<Value>(&operand.what)) {
    checkVisible(kernel, native(*value).ir, operand.where);
    return native(*value);
  }
  if (const auto *place = std::get_if<Place>(&operand.what))
    found = builder.load(usable(*place));
  else if (const auto *truth = std::get_if<bool>(&operand.what))
    found = builder.boolean(*truth);
  else if (const auto *number = std::get_if<int64_t>(&operand.what))
    found = builder.integerLiteral(*number, false);
  else
    found = builder.floatLiteral(std::get<double>(operand.what));
  check(kernel);
  return found;
}

std::vector<KernelValue> Access::resolve(KernelState &kernel,
                                         std::initializer_list<Operand> operands) {
  std::vector<KernelValue> values;
  for (const Operand &operand : operands)
    values.push_back(resolve(kernel, operand));
  return values;
}

KernelBuilder::PrintPart Access::part(KernelState &kernel, const Shown &shown) {
  if (const auto *text = std::get_if<std::string>(&shown.what))
    return {*text, std::nullopt};
  if (const auto *place = std::get_if<Place>(&shown.what))
    return {"", resolve(kernel, Operand(*place, shown.where))};
  return {"", resolve(kernel, Operand(std::get<Value>(shown.what), shown.where))};
}

KernelState &commonKernel(std::initializer_list<const Operand *> operands) {
  for (const Operand *operand : operands)
    if (KernelState *kernel = Access::kernelOf(*operand))
      return *kernel;
  Access::fail(Access::whereOf(**operands.begin()),
               "expected a value of a kernel among the operands, got numbers alone");
}

} // namespace metate::builder::detail
