// Binds the KernelBuilder. Each call checks the builder's diagnostics and
// raises FrontendError.
#include "Compiler.h"

#include "metate/Dialect/Place.h"
#include "metate/Dialect/Tree.h"
#include "metate/Frontend/BriefKernel.h"
#include "metate/Frontend/Graph.h"
#include "metate/Frontend/ScatteringKernel.h"
#include "metate/Transforms/WriteNumbers.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

namespace metate::python {
namespace {

using namespace frontend;
using Values = std::vector<KernelValue>;

/// Passes a result on, or raises what the builder has to say.
template <typename T> T checked(KernelBuilder &builder, T result) {
  if (auto diagnostic = builder.diagnostics().takeError())
    throwDiagnostic(*diagnostic);
  return result;
}
void check(KernelBuilder &builder) { checked(builder, 0); }

/// Wraps a member function so that its diagnostics are raised.
template <auto method> struct Checked;
template <typename R, typename... A, R (KernelBuilder::*method)(A...)> struct Checked<method> {
  static R call(KernelBuilder &self, std::decay_t<A>... arguments) {
    if constexpr (std::is_void_v<R>) {
      (self.*method)(std::move(arguments)...);
      check(self);
    } else {
      return checked(self, (self.*method)(std::move(arguments)...));
    }
  }
};

Scalar scalarOf(uint32_t code) {
  if (code < METATE_U1 || code > METATE_F64)
    throw nb::value_error("no scalar type has this number");
  return Scalar(code);
}

DataType makeType(uint32_t code, const std::vector<int64_t> &shape) {
  return DataType(scalarOf(code), shape);
}

std::vector<int64_t> shapeOf(const DataType &type) {
  return {type.shape.begin(), type.shape.end()};
}

KernelValue integerLiteral(KernelBuilder &self, nb::int_ value) {
  int overflow = 0;
  int64_t number = PyLong_AsLongLongAndOverflow(value.ptr(), &overflow);
  return checked(self, self.integerLiteral(number, overflow != 0));
}

KernelValue integerConstant(KernelBuilder &self, nb::int_ value, uint32_t code) {
  uint64_t bits = PyLong_AsUnsignedLongLongMask(value.ptr());
  return checked(self, self.integerConstant(int64_t(bits), scalarOf(code)));
}

std::optional<Scalar> optionalScalar(std::optional<uint32_t> code) {
  return code ? std::optional<Scalar>(scalarOf(*code)) : std::nullopt;
}

KernelBuilder::Bounds makeBounds(const KernelValue &lower, const KernelValue &upper,
                                 const std::optional<KernelValue> &step) {
  return {lower, upper, step.value_or(KernelValue{})};
}

/// bounds: lower, upper, step of each axis; a step may be None.
/// Numbers, -1 for any, or (name, min, max, multiple).
std::vector<mlir::Attribute> extentsOf(KernelBuilder &self, nb::list shape) {
  std::vector<mlir::Attribute> found;
  for (nb::handle one : shape) {
    if (!nb::isinstance<nb::tuple>(one)) {
      found.push_back(self.extent(nb::cast<int64_t>(one)));
      continue;
    }
    auto [name, min, max, multiple] =
        nb::cast<std::tuple<std::string, int64_t, int64_t, int64_t>>(one);
    found.push_back(self.dim(name, min, max, multiple));
  }
  return found;
}

Values beginParallel(KernelBuilder &self, nb::list bounds) {
  std::vector<KernelBuilder::Bounds> converted;
  for (nb::handle bound : bounds)
    converted.push_back(makeBounds(
        nb::cast<KernelValue>(bound[0]), nb::cast<KernelValue>(bound[1]),
        bound[2].is_none() ? std::nullopt : std::optional(nb::cast<KernelValue>(bound[2]))));
  return checked(self, self.beginParallel(converted));
}

KernelValue beginSerial(KernelBuilder &self, const KernelValue &lower, const KernelValue &upper,
                        std::optional<KernelValue> step, std::optional<Reference> keepGoing) {
  return checked(
      self, self.beginSerial(makeBounds(lower, upper, step), keepGoing ? &*keepGoing : nullptr));
}

void beginWhileBody(KernelBuilder &self, const KernelValue &condition,
                    std::optional<Reference> keepGoing) {
  self.beginWhileBody(condition, keepGoing ? &*keepGoing : nullptr);
  check(self);
}

/// parts: texts, values, and pairs of a value and its format.
std::vector<KernelBuilder::PrintPart> partsOf(nb::list parts) {
  std::vector<KernelBuilder::PrintPart> converted;
  for (nb::handle part : parts) {
    if (nb::isinstance<nb::str>(part))
      converted.push_back({nb::cast<std::string>(part), std::nullopt});
    else if (nb::isinstance<nb::tuple>(part))
      converted.push_back({"", nb::cast<KernelValue>(part[0]), nb::cast<std::string>(part[1])});
    else
      converted.push_back({"", nb::cast<KernelValue>(part)});
  }
  return converted;
}

void printParts(KernelBuilder &self, nb::list parts) {
  self.print(partsOf(parts));
  check(self);
}

std::vector<std::string> warnings(KernelBuilder &self) { return self.diagnostics().takeWarnings(); }

void makeBuilder(KernelBuilder *self, SourceModule &module, const std::string &name,
                 const std::string &file, unsigned line, unsigned column, uint32_t defaultInteger,
                 uint32_t defaultFloat, bool mayAlias, std::optional<bool> fastMath, bool asserts) {
  KernelOptions options;
  options.defaultInteger = scalarOf(defaultInteger);
  options.defaultFloat = scalarOf(defaultFloat);
  options.mayAlias = mayAlias;
  options.fastMath = fastMath.value_or(false);
  options.ordered = fastMath == false; // by name
  options.asserts = asserts;
  new (self) KernelBuilder(module, name, options, file, line, column);
}

/// (name, the type of what the kernel returns there or None) of each argument of a kernel.
nb::list argumentsOf(SourceModule &self, const std::string &kernel) {
  nb::list found;
  for (WrittenArgument &argument : frontend::argumentsOf(self, kernel))
    found.append(
        nb::make_tuple(argument.name, argument.result ? nb::cast(*argument.result) : nb::none()));
  return found;
}

nb::list writeSites(SourceModule &self) {
  nb::list found;
  for (KernelOp kernel : self.op().getOps<KernelOp>())
    for (mlir::Operation *op : numberedWrites(kernel)) {
      mlir::FileLineColLoc place = placeOf(op->getLoc());
      found.append(
          place ? nb::make_tuple(place.getFilename().str(), place.getLine(), place.getColumn())
                : nb::make_tuple("", 0, 0));
    }
  return found;
}

nb::list askedCells(SourceModule &self) {
  nb::list found;
  self.op().walk([&](CellOpInterface op) {
    auto tree = mlir::dyn_cast<mlir::BlockArgument>(op.getTree());
    auto kernel = tree ? mlir::dyn_cast<KernelOp>(tree.getOwner()->getParentOp()) : KernelOp();
    if (!kernel || !(op.asksActivity() || mlir::isa<ForEachOp>(op)) ||
        findPath(mlir::cast<TreeType>(tree.getType()), op.getPath())->lastActivity() < 0)
      return;
    auto name = kernel.getArgAttrOfType<mlir::StringAttr>(tree.getArgNumber(), mark::name);
    mlir::FileLineColLoc place = placeOf(op->getLoc());
    if (name && place)
      found.append(nb::make_tuple(
          name.str(), op.getPath().str(),
          shownMember(kernel, tree.getArgNumber(), op.getPath()).name,
          nb::make_tuple(place.getFilename().str(), place.getLine(), place.getColumn())));
  });
  return found;
}

mlir::Value operandOf(nb::handle thing) {
  if (nb::isinstance<KernelArray>(thing))
    return nb::cast<KernelArray>(thing).ir;
  if (nb::isinstance<KernelTree>(thing))
    return nb::cast<KernelTree>(thing).ir;
  if (nb::isinstance<Reference>(thing))
    return nb::cast<Reference>(thing).base;
  return nb::cast<KernelValue>(thing).ir;
}

void runKernel(KernelBuilder &self, const std::string &kernel, nb::list operands) {
  std::vector<mlir::Value> converted;
  for (nb::handle operand : operands)
    converted.push_back(operandOf(operand));
  self.run(kernel, converted);
  check(self);
}

/// operands: values, and references by their indices.
std::vector<KernelValue> callFunction(KernelBuilder &self, const std::string &name,
                                      nb::list operands, const std::vector<DataType> &results) {
  llvm::SmallVector<mlir::Value> converted;
  for (nb::handle operand : operands) {
    if (nb::isinstance<Reference>(operand))
      llvm::append_range(converted, self.referenceOperands(nb::cast<Reference>(operand)));
    else
      converted.push_back(nb::cast<KernelValue>(operand).ir);
  }
  return checked(self, self.call(name, converted, results));
}

template <typename Class> void bindCalls(Class &builder) {
  builder
      .def("begin_function",
           [](KernelBuilder &self, const std::string &name, const std::string &file, unsigned line,
              unsigned column) { return self.beginFunction(name, file, line, column); })
      .def("parameter", &KernelBuilder::parameter)
      .def("reference_parameter", &KernelBuilder::referenceParameter)
      .def("end_function",
           [](KernelBuilder &self, const Values &values) { self.endFunction(values); })
      .def("abandon_function", &KernelBuilder::abandonFunction)
      .def("give_derivative",
           [](KernelBuilder &self, const std::string &function, const std::string &derivative,
              const std::string &again) { self.giveDerivative(function, derivative, again); })
      .def("drop_functions",
           [](KernelBuilder &self, const std::vector<std::string> &names) {
             self.dropFunctions(names);
           })
      .def("begin_stream", &KernelBuilder::beginStream)
      .def("stream_state", &KernelBuilder::streamState)
      .def("continue_stream", &KernelBuilder::continueStream)
      .def_prop_ro("may_draw", &KernelBuilder::mayDraw)
      .def_prop_ro("is_in_function", &KernelBuilder::isInFunction)
      .def("call", &callFunction);
}

template <typename Class> void bindValues(Class &builder) {
  builder.def("integer_literal", &integerLiteral)
      .def("float_literal", &Checked<&KernelBuilder::floatLiteral>::call)
      .def("boolean", &Checked<&KernelBuilder::boolean>::call)
      .def("integer_constant", &integerConstant)
      .def("float_constant",
           [](KernelBuilder &self, double value, uint32_t code) {
             return checked(self, self.floatConstant(value, scalarOf(code)));
           })
      .def("cast",
           [](KernelBuilder &self, const KernelValue &value, uint32_t code) {
             return checked(self, self.cast(value, scalarOf(code), /*isExplicit=*/true));
           })
      .def("convert",
           [](KernelBuilder &self, const KernelValue &value, const DataType &type,
              const std::string &what) { return checked(self, self.convert(value, type, what)); })
      .def("bit_cast",
           [](KernelBuilder &self, const KernelValue &value, uint32_t code) {
             return checked(self, self.bitCast(value, scalarOf(code)));
           })
      .def("truth", [](KernelBuilder &self, const KernelValue &value,
                       const std::string &what) { return checked(self, self.truth(value, what)); })
      .def("known_integer",
           [](KernelBuilder &self, const KernelValue &value) { return self.knownInteger(value); })
      .def("binary", [](KernelBuilder &self, const std::string &op, const KernelValue &a,
                        const KernelValue &b) { return checked(self, self.binary(op, a, b)); })
      .def("compare", [](KernelBuilder &self, const std::string &op, const KernelValue &a,
                         const KernelValue &b) { return checked(self, self.compare(op, a, b)); })
      .def("unary", [](KernelBuilder &self, const std::string &op,
                       const KernelValue &a) { return checked(self, self.unary(op, a)); })
      .def("select", &Checked<&KernelBuilder::select>::call)
      .def("function", [](KernelBuilder &self, const std::string &name,
                          const KernelValue &a) { return checked(self, self.function(name, a)); })
      .def_static("function_names", &KernelBuilder::functionNames)
      .def(
          "vector",
          [](KernelBuilder &self, const Values &elements, std::optional<uint32_t> code) {
            return checked(self, self.makeVector(elements, optionalScalar(code)));
          },
          nb::arg(), nb::arg().none())
      .def(
          "matrix",
          [](KernelBuilder &self, const Values &elements, int64_t rows,
             std::optional<uint32_t> code) {
            return checked(self, self.makeMatrix(elements, rows, optionalScalar(code)));
          },
          nb::arg(), nb::arg(), nb::arg().none())
      .def("component",
           [](KernelBuilder &self, const KernelValue &value, const Values &indices) {
             return checked(self, self.component(value, indices));
           })
      .def("linear_pair",
           [](KernelBuilder &self, const std::string &op, const KernelValue &a,
              const KernelValue &b) { return checked(self, self.linearPair(op, a, b)); })
      .def("linear", [](KernelBuilder &self, const std::string &op, const KernelValue &a) {
        return checked(self, self.linear(op, a));
      });
}

template <typename Class> void bindMemory(Class &builder) {
  builder
      .def(
          "declare_local",
          [](KernelBuilder &self, const DataType &type, std::optional<unsigned> scope) {
            return checked(self, self.declareLocal(type, scope));
          },
          nb::arg(), nb::arg().none() = nb::none())
      .def_prop_ro("scope", &KernelBuilder::currentScope)
      .def("array_element",
           [](KernelBuilder &self, const KernelArray &array, const Values &indices) {
             return checked(self, self.arrayElement(array, indices));
           })
      .def("member",
           [](KernelBuilder &self, const KernelTree &tree, const std::string &name,
              const Values &indices) { return checked(self, self.member(tree, name, indices)); })
      .def("reference_component",
           [](KernelBuilder &self, const Reference &reference, const Values &indices) {
             return checked(self, self.component(reference, indices));
           })
      .def("load", &Checked<&KernelBuilder::load>::call)
      .def("store",
           [](KernelBuilder &self, const Reference &reference, const KernelValue &value,
              const std::string &what) {
             self.store(reference, value, what);
             check(self);
           })
      .def("store_together",
           [](KernelBuilder &self, const std::vector<Reference> &references,
              const std::vector<KernelValue> &values, const std::string &what) {
             self.storeTogether(references, values, what);
             check(self);
           })
      .def(
          "atomic",
          [](KernelBuilder &self, const std::string &op, const Reference &reference,
             const KernelValue &value) { return checked(self, self.atomic(op, reference, value)); })
      .def("compare_exchange",
           [](KernelBuilder &self, const Reference &reference, const KernelValue &expected,
              const KernelValue &desired) {
             return checked(self, self.compareExchange(reference, expected, desired));
           })
      .def("is_shared", &KernelBuilder::isShared)
      .def("dimension", &Checked<&KernelBuilder::dimension>::call)
      .def("is_active",
           [](KernelBuilder &self, const KernelTree &tree, const std::string &path,
              const Values &indices) { return checked(self, self.isActive(tree, path, indices)); })
      .def("activate",
           [](KernelBuilder &self, const KernelTree &tree, const std::string &path,
              const Values &indices) { return checked(self, self.activate(tree, path, indices)); })
      .def("deactivate",
           [](KernelBuilder &self, const KernelTree &tree, const std::string &path,
              const Values &indices) {
             self.deactivate(tree, path, indices);
             check(self);
           })
      .def("append",
           [](KernelBuilder &self, const KernelTree &tree, const std::string &level,
              const Values &indices) { return checked(self, self.append(tree, level, indices)); })
      .def("length",
           [](KernelBuilder &self, const KernelTree &tree, const std::string &level,
              const Values &indices) { return checked(self, self.length(tree, level, indices)); })
      .def("used", [](KernelBuilder &self, const KernelTree &tree,
                      const std::string &level) { return checked(self, self.used(tree, level)); })
      .def("no_activate", [](KernelBuilder &self, const KernelTree &tree,
                             const std::string &member) { self.noActivate(tree, member); })
      .def_static("activated", &KernelBuilder::activated)
      .def_static("clamped", &KernelBuilder::clamped)
      .def_static("constant_to_derivatives", &KernelBuilder::constantToDerivatives);
}

template <typename Class> void bindControl(Class &builder) {
  builder.def("begin_parallel", &beginParallel)
      .def("begin_for_each",
           [](KernelBuilder &self, const KernelTree &tree, const std::string &path) {
             return checked(self, self.beginForEach(tree, path));
           })
      .def("begin_serial", &beginSerial, nb::arg(), nb::arg(), nb::arg().none(), nb::arg().none())
      .def("begin_while", &Checked<&KernelBuilder::beginWhile>::call)
      .def("begin_while_body", &beginWhileBody, nb::arg(), nb::arg().none())
      .def("end_loop", &Checked<&KernelBuilder::endLoop>::call)
      .def("begin_if", &Checked<&KernelBuilder::beginIf>::call)
      .def("begin_else", &Checked<&KernelBuilder::beginElse>::call)
      .def("end_if", &Checked<&KernelBuilder::endIf>::call)
      .def("end_if_with", &Checked<&KernelBuilder::endIfWith>::call)
      .def("print", &printParts)
      .def("assert_that",
           [](KernelBuilder &self, const KernelValue &condition, const std::string &message) {
             self.assertThat(condition, message);
             check(self);
           })
      .def("assert_that",
           [](KernelBuilder &self, const KernelValue &condition, nb::list message) {
             self.assertThat(condition, partsOf(message));
             check(self);
           })
      .def("check_format",
           [](KernelBuilder &self, const KernelValue &value, const std::string &format) {
             self.checkFormat(value, format);
             check(self);
           })
      .def("random", [](KernelBuilder &self, uint32_t code, const KernelValue &key) {
        return checked(self, self.random(scalarOf(code), key));
      });
}

void bindTypes(nb::module_ &module) {
  nb::class_<DataType>(module, "DataType",
                       "A scalar, vector or matrix type: a metate_dtype and a shape.")
      .def("__init__",
           [](DataType *self, uint32_t code, const std::vector<int64_t> &shape) {
             new (self) DataType(makeType(code, shape));
           })
      .def_prop_ro("code", [](const DataType &self) { return uint32_t(self.scalar); })
      .def_prop_ro("shape", &shapeOf)
      .def_prop_ro("name", &DataType::name)
      .def("__eq__", [](const DataType &self, const DataType &other) { return self == other; });
  nb::class_<KernelValue>(module, "Value", "A value in a kernel under construction.")
      .def_ro("type", &KernelValue::type);
  nb::class_<KernelArray>(module, "Array", "An array argument.")
      .def_ro("element", &KernelArray::element)
      .def_ro("rank", &KernelArray::rank);
  nb::class_<KernelTree>(module, "Tree", "A tree argument.");
  nb::class_<Reference>(module, "Reference",
                        "A local, an array element, a member of a cell, or a component of one.")
      .def_ro("type", &Reference::type)
      .def_prop_ro("is_local",
                   [](const Reference &self) { return self.kind == Reference::Kind::Local; })
      .def("is_same_base", [](const Reference &self, const Reference &other) {
        return self.kind == other.kind && self.base == other.base && self.path == other.path &&
               self.whole == other.whole && self.isClamped == other.isClamped &&
               self.isConstant == other.isConstant && self.indices.size() == other.indices.size() &&
               self.components.size() == other.components.size();
      });
}

} // namespace

void bindBuilder(nb::module_ &module) {
  bindTypes(module);
  nb::class_<SourceModule>(module, "SourceModule", "The import stage's IR of some kernels.")
      .def("__init__",
           [](SourceModule *self, const std::string &name) { new (self) SourceModule(name); })
      .def("add_named_type",
           [](SourceModule &self, const std::string &name, const std::string &type) {
             std::string error = self.addNamedType(name, type);
             if (!error.empty())
               throwCompileError(error);
           })
      .def(
          "add_derived",
          [](SourceModule &self, const std::string &kernel, const std::string &mode,
             const std::string &primal) { self.addDerived(kernel, mode, primal); },
          nb::arg("kernel"), nb::arg("mode"), nb::arg("primal"),
          "Says whose derivative a kernel of the module is; mode: 'reverse' or 'forward'.")
      .def(
          "document",
          [](SourceModule &self, const std::string &kernel, const std::string &text) {
            self.document(kernel, text);
          },
          nb::arg("kernel"), nb::arg("text"), "Says what the user wrote of a kernel of the module.")
      .def(
          "check", [](SourceModule &self, const std::string &kernel) { self.check(kernel); },
          nb::arg("kernel"),
          "Says that a kernel of the module is compiled in debug mode, whatever the options are.")
      .def(
          "parse",
          [](SourceModule &self, const std::string &text) {
            std::string error = self.parse(text);
            if (!error.empty())
              throwCompileError(error);
          },
          nb::arg("text"), "Replaces what it holds by a dump of the import stage.")
      .def(
          "place_pool",
          [](SourceModule &self, const std::string &kernel, const std::string &pool,
             const std::string &memory, const std::string &file, unsigned line,
             unsigned column) { placePool(self, kernel, pool, memory, {file, line, column}); },
          nb::arg("kernel"), nb::arg("pool"), nb::arg("memory"), nb::arg("file"), nb::arg("line"),
          nb::arg("column"), "Says where a kernel's pool is to lie, and which line says so.")
      .def("planned_memory", &plannedMemory,
           "Once it is compiled: (graph, how the memory of its intermediates was planned).")
      .def("arguments_of", &argumentsOf)
      .def(
          "brief_extent", [](SourceModule &self) { return briefExtent(self.op()); },
          "Of its one kernel: launches are brief whose arrays have no larger extent; -1: none is.")
      .def(
          "scatters_to_arrays", [](SourceModule &self) { return scattersToArrays(self.op()); },
          "Does its one kernel add at computed places, often in an iteration of a parallel loop "
          "that uses arrays of any extents?")
      .def("write_sites", &writeSites,
           "Where the writes of its one kernel stand, by their numbers: (file, line, column).")
      .def("asked_cells", &askedCells,
           "Where its one kernel asks which cells of trees are active, in loops over them as well: "
           "(the argument's name, path, "
           "what users call that, (file, line, column)).")
      .def("verify", &SourceModule::verify, "An empty string, or what the verifiers say.")
      .def("text", &SourceModule::text, nb::arg("locations") = true);
  nb::class_<KernelBuilder> builder(module, "KernelBuilder",
                                    "Writes one kernel into a SourceModule.");
  builder.def("__init__", &makeBuilder, nb::keep_alive<1, 2>())
      .def("finish", &Checked<&KernelBuilder::finish>::call)
      .def("abandon", &Checked<&KernelBuilder::abandon>::call)
      .def("take_warnings", &warnings)
      .def("set_location", [](KernelBuilder &self, const std::string &file, unsigned line,
                              unsigned column) { self.setLocation(file, line, column); })
      .def("make_node", &KernelBuilder::makeNode)
      .def("local_result", &Checked<&KernelBuilder::localResult>::call)
      .def("run", &runKernel)
      .def("enter_call", &KernelBuilder::enterCall)
      .def("leave_call", &KernelBuilder::leaveCall)
      .def("value_argument",
           [](KernelBuilder &self, const std::string &name, const DataType &type) {
             return checked(self, self.valueArgument(name, type));
           })
      .def(
          "array_argument",
          [](KernelBuilder &self, const std::string &name, const DataType &element, unsigned rank,
             bool isContiguous, nb::list shape, bool isBesideMember) {
            return checked(self, self.arrayArgument(name, element, rank, isContiguous,
                                                    extentsOf(self, shape), isBesideMember));
          },
          nb::arg("name"), nb::arg("element"), nb::arg("rank"), nb::arg("is_contiguous"),
          nb::arg("shape") = nb::list(), nb::arg("is_beside_member") = false)
      .def("intermediate",
           [](KernelBuilder &self, const std::string &name, const DataType &element,
              nb::list shape) {
             return checked(self, self.intermediate(name, element, extentsOf(self, shape)));
           })
      .def("tree_argument",
           [](KernelBuilder &self, const std::string &name, const std::string &type) {
             return checked(self, self.treeArgument(name, type));
           })
      .def("name_member",
           [](KernelBuilder &self, const KernelTree &tree, const std::string &member,
              const std::string &shown,
              const std::vector<int64_t> &offset) { self.nameMember(tree, member, shown, offset); })
      .def("differentiate",
           [](KernelBuilder &self, const std::string &mode) { self.differentiate(mode); })
      .def("tree_derivative",
           [](KernelBuilder &self, const KernelTree &primal, const std::string &member,
              const KernelTree &derivative, const std::string &derivativeMember) {
             self.memberDerivative(primal, member, derivative, derivativeMember);
           })
      .def("array_derivative", &KernelBuilder::arrayDerivative)
      .def("tree_written", &KernelBuilder::treeWritten)
      .def("array_written", &KernelBuilder::arrayWritten)
      .def("stop_gradient", &Checked<&KernelBuilder::stopGradient>::call)
      .def("result_argument",
           [](KernelBuilder &self, const DataType &type, const std::string &name) {
             return checked(self, self.resultArgument(type, name));
           });
  bindValues(builder);
  bindMemory(builder);
  bindControl(builder);
  bindCalls(builder);
}

} // namespace metate::python
