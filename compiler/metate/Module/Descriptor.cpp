//===- Descriptor.cpp - the module descriptor's bytes -----------*- C++ -*-===//
//
// Writes abi/metate/abi/module.h's metate_descriptor from the operations that describe a module:
// named types, interfaces, texts, payloads. Records are filled first, with string and blob numbers
// resolved when the parts are put one after the other. All orders are those of the operations, so
// equal modules give equal bytes.
//
//===----------------------------------------------------------------------===//
#include "metate/Dialect/Derivative.h"
#include "metate/Dialect/Graph.h"
#include "metate/Dialect/Tree.h"
#include "metate/Layout/TypeBlob.h"
#include "metate/Module/Hash.h"
#include "metate/Module/Module.h"
#include "metate/Mutants/Mutants.h"
#include "metate/abi/kernel.h"
#include "metate/abi/pool.h"
#include "metate/abi/tree.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Config/llvm-config.h"
#include "llvm/Support/MathExtras.h"

#include <cstring>
#include <map>

using namespace mlir;
using namespace metate;
using llvm::Error;
using llvm::Expected;

static constexpr const char *producer = "metate 0.1.0 (LLVM " LLVM_VERSION_STRING ")";

namespace {
/// Strings, each once; offsets count from the area's start until the area has its place.
class Strings {
public:
  /// A number for `text` that resolve() turns into an offset; the empty string is 'none'.
  uint32_t add(StringRef text) {
    if (text.empty())
      return 0;
    auto [entry, isNew] = offsets.try_emplace(text, uint32_t(bytes.size()) + 1);
    if (isNew)
      bytes.append(text.begin(), text.end()).push_back('\0');
    return entry->second;
  }
  static void resolve(uint32_t &number, uint32_t base) { number = number ? base + number - 1 : 0; }
  std::string bytes;

private:
  llvm::StringMap<uint32_t> offsets;
};

class DescriptorBuilder {
public:
  DescriptorBuilder(ModuleOp module, std::optional<int64_t> only) : module(module), only(only) {}
  Expected<std::string> run(ArrayRef<Variant> given);

private:
  Error addTypes();
  Error addType(StringRef name, TreeType type);
  Error addTexts();
  Error addKernel(InterfaceOp op);
  void addPools(InterfaceOp op, metate_kernel_info &kernel);
  Error addDims(InterfaceOp op, metate_kernel_info &kernel);
  Error addDerivatives();
  metate_argument_info makeArgument(ArgumentAttr argument);
  void addVariant(const Variant &variant);
  uint64_t signatureOf(StringRef name, ArrayRef<metate_argument_info> infos,
                       ArrayRef<Attribute> attributes);
  std::string assemble();

  ModuleOp module;
  std::optional<int64_t> only; // the payload that it goes with
  Strings strings;
  std::vector<metate_type_info> types; // offset: of the blob in `blobs` until assembled
  std::vector<metate_kernel_info> kernels;
  std::vector<metate_argument_info> arguments;
  std::vector<metate_variant_info> variants;
  std::vector<metate_text> texts;
  std::vector<metate_pool_info> pools;
  std::vector<metate_derivative_info> derivatives;
  std::vector<metate_dim_info> dims;
  std::vector<metate_place_info> places;
  std::string blobs;
  uint32_t typeOf(ArgumentAttr argument) const;

  llvm::DenseMap<Type, uint32_t> typeIndex; // the first name of each type
  llvm::StringMap<std::pair<Type, uint32_t>> namedTypes;
};
} // namespace

Error DescriptorBuilder::addType(StringRef name, TreeType type) {
  Expected<std::string> blob = layout::treeTypeBlob(type);
  if (!blob)
    return llvm::joinErrors(llvm::createStringError("type '" + name + "'"), blob.takeError());
  blobs.resize(llvm::alignTo(blobs.size(), 8));
  typeIndex.try_emplace(type, uint32_t(types.size()));
  namedTypes.try_emplace(name, type, uint32_t(types.size()));
  types.push_back({strings.add(name), 1, uint32_t(blobs.size()), uint32_t(blob->size())});
  blobs += *blob;
  return Error::success();
}

/// Named types in their order, then a derived name ("tree0") for each type that only interfaces
/// use.
Error DescriptorBuilder::addTypes() {
  llvm::StringSet<> names;
  for (NamedTypeOp op : module.getOps<NamedTypeOp>()) {
    if (!names.insert(op.getSymName()).second)
      return llvm::createStringError("type name '" + op.getSymName() + "' is used twice");
    if (Error error = addType(op.getSymName(), cast<TreeType>(op.getType())))
      return error;
  }
  unsigned number = 0;
  for (InterfaceOp op : module.getOps<InterfaceOp>())
    for (Attribute attribute : op.getArguments()) {
      auto type = dyn_cast<TreeType>(cast<ArgumentAttr>(attribute).getType());
      if (!type || typeIndex.contains(type))
        continue;
      std::string name;
      do
        name = "tree" + std::to_string(number++);
      while (names.contains(name));
      if (Error error = addType(name, type))
        return error;
    }
  return Error::success();
}

Error DescriptorBuilder::addTexts() {
  for (TextOp op : module.getOps<TextOp>()) {
    if (op.getIndex() != texts.size())
      return llvm::createStringError(
          "text operations must stand in the order of their indices: expected " +
          Twine(texts.size()) + ", got " + Twine(op.getIndex()));
    texts.push_back({strings.add(op.getFile()), uint32_t(op.getLine()), uint32_t(op.getColumn()),
                     strings.add(op.getText())});
  }
  return Error::success();
}

static uint32_t kindCode(StringRef kind) {
  return llvm::StringSwitch<uint32_t>(kind)
      .Case("scalar", METATE_ARGUMENT_SCALAR)
      .Case("vector", METATE_ARGUMENT_VECTOR)
      .Case("ndarray", METATE_ARGUMENT_NDARRAY)
      .Case("tree", METATE_ARGUMENT_TREE);
}

/// A type may have several names: the argument's own is the best one.
uint32_t DescriptorBuilder::typeOf(ArgumentAttr argument) const {
  auto named = namedTypes.find(argument.getName());
  if (named != namedTypes.end() && named->second.first == argument.getType())
    return named->second.second;
  return typeIndex.lookup(argument.getType());
}

/// The dialect's verifier has seen the attribute: kind, type, element and rank agree.
metate_argument_info DescriptorBuilder::makeArgument(ArgumentAttr argument) {
  metate_argument_info info = {};
  info.name = strings.add(argument.getName());
  info.kind = kindCode(argument.getKind());
  info.rows = info.columns = info.slot_count = 1;
  info.access = uint32_t(argument.getAccess());
  info.flags = uint32_t(argument.getFlags());
  std::fill(std::begin(info.fixed), std::end(info.fixed), -1);
  if (info.kind == METATE_ARGUMENT_TREE) {
    info.type = typeOf(argument);
    return info;
  }
  ArrayRef<int64_t> element = argument.getElement();
  info.dtype =
      argument.getType().isIndex() ? uint32_t(METATE_I64) : layout::dtypeOf(argument.getType());
  info.element_rank = uint32_t(element.size());
  info.rows = element.empty() ? 1 : uint32_t(element[0]);
  info.columns = element.size() < 2 ? 1 : uint32_t(element[1]);
  info.rank = uint32_t(argument.getRank());
  info.slot_count = info.rows * info.columns;
  if (info.kind != METATE_ARGUMENT_NDARRAY)
    return info;
  info.slot_count = 1 + 2 * info.rank;
  llvm::copy(element, info.fixed + info.rank - element.size());
  return info;
}

/// What the dimensions of its arrays must be, and the dims among these, each where it stands first.
Error DescriptorBuilder::addDims(InterfaceOp op, metate_kernel_info &kernel) {
  size_t first = dims.size();
  llvm::StringMap<DimAttr> known;
  llvm::StringMap<uint32_t> numbers;
  for (auto [number, attribute] : llvm::enumerate(op.getArguments())) {
    ArrayAttr shape = cast<ArgumentAttr>(attribute).getShape();
    metate_argument_info &argument = arguments[kernel.first_argument + number];
    for (auto [k, extent] : llvm::enumerate(shape ? shape.getValue() : ArrayRef<Attribute>())) {
      if (auto constant = dyn_cast<IntegerAttr>(extent)) {
        argument.fixed[k] = constant.getInt();
        continue;
      }
      auto dim = cast<DimAttr>(extent);
      if (known.try_emplace(dim.getName(), dim).first->second != dim)
        return llvm::createStringError("kernel '" + op.getSymName() + "': dim '" + dim.getName() +
                                       "' means two things");
      auto [at, isNew] = numbers.try_emplace(dim.getName(), uint32_t(dims.size() - first));
      argument.fixed[k] = METATE_EXTENT_OF_DIM(at->second);
      if (isNew)
        dims.push_back(
            {strings.add(dim.getName()), uint32_t(kernels.size()),
             argument.first_slot + 1 + (isMutant(Mutant::DimSlotOfFirstAxis) ? 0 : uint32_t(k)), 0,
             dim.getMin(), dim.getMax(), dim.getMultiple()});
    }
  }
  kernel.first_dim = dims.size() > first ? uint32_t(first) : 0;
  return Error::success();
}

/// Hash of the kernel's name and, for each argument, its name and its record without string and
/// type numbers, and a tree's type hash: equal exactly when a caller's slots mean the same.
uint64_t DescriptorBuilder::signatureOf(StringRef name, ArrayRef<metate_argument_info> infos,
                                        ArrayRef<Attribute> attributes) {
  std::string key = name.str() + '\0';
  for (auto [info, attribute] : llvm::zip_equal(infos, attributes)) {
    metate_argument_info copy = info;
    copy.name = copy.type = 0;
    key += cast<ArgumentAttr>(attribute).getName().str() + '\0';
    key.append(reinterpret_cast<const char *>(&copy), sizeof copy);
    if (ArrayAttr shape = cast<ArgumentAttr>(attribute).getShape())
      for (Attribute extent : shape)
        if (auto dim = dyn_cast<DimAttr>(extent);
            dim && !isMutant(Mutant::SignatureWithoutBounds)) {
          const int64_t bounds[] = {dim.getMin(), dim.getMax(), dim.getMultiple()};
          key.append(reinterpret_cast<const char *>(bounds), sizeof bounds);
        }
    if (info.kind == METATE_ARGUMENT_TREE)
      key.append(blobs, types[info.type].offset + offsetof(metate_tree_type, hash), 16);
  }
  return hashOf(key);
}

void DescriptorBuilder::addPools(InterfaceOp op, metate_kernel_info &kernel) {
  if (!op.getPools())
    return;
  kernel.first_pool = uint32_t(pools.size());
  for (PoolAttr pool : op.getPoolsAttr().getAsRange<PoolAttr>()) {
    bool isOfOne = pool.getVariant() >= 0;
    if (only && isOfOne && pool.getVariant() != *only)
      continue;
    metate_pool_info info = {};
    info.name = strings.add(pool.getName());
    info.kind = uint32_t(pool.getKind());
    info.variant = isOfOne && !only ? uint32_t(pool.getVariant()) : METATE_NONE;
    info.align = uint32_t(pool.getAlign());
    info.bytes = uint64_t(pool.getBytes());
    info.scale = uint64_t(pool.getScale());
    std::fill(std::begin(info.factors), std::end(info.factors), METATE_NONE);
    llvm::copy(pool.getFactors(), info.factors);
    if (!pool.getMemory().empty())
      places.push_back({uint32_t(pools.size()), strings.add(pool.getMemory())});
    pools.push_back(info);
    ++kernel.pool_count;
  }
}

/// Could both be members of one array of structs?
static bool areOfOneArray(const metate_argument_info &before, const metate_argument_info &info) {
  return before.kind == METATE_ARGUMENT_NDARRAY && info.kind == METATE_ARGUMENT_NDARRAY &&
         before.rank - before.element_rank == info.rank - info.element_rank;
}

Error DescriptorBuilder::addKernel(InterfaceOp op) {
  metate_kernel_info kernel = {};
  kernel.name = strings.add(op.getSymName());
  kernel.flags =
      (op.getMayAlias() ? 0 : METATE_KERNEL_NO_ALIAS) | (op.getDebug() ? METATE_KERNEL_DEBUG : 0);
  if (op.getSymName().ends_with(METATE_SLICE_SUFFIX))
    kernel.flags |= METATE_KERNEL_SLICE;
  if (op.getEntry().starts_with(graphEntryPrefix))
    kernel.flags |= METATE_KERNEL_GRAPH;
  kernel.first_argument = uint32_t(arguments.size());
  kernel.argument_count = uint32_t(op.getArguments().size());
  kernel.task_count = uint32_t(op.getTaskCount());
  kernel.source = METATE_NONE;
  addPools(op, kernel);
  for (Attribute attribute : op.getArguments()) {
    metate_argument_info info = makeArgument(cast<ArgumentAttr>(attribute));
    info.first_slot = kernel.slot_count;
    kernel.slot_count += info.slot_count;
    arguments.push_back(info);
  }
  for (size_t k = kernel.first_argument; k < arguments.size(); ++k)
    if (arguments[k].flags & METATE_ARGUMENT_MEMBER &&
        (k == kernel.first_argument || !areOfOneArray(arguments[k - 1], arguments[k])))
      return llvm::createStringError(
          "kernel '" + op.getSymName() + "': argument " + Twine(k - kernel.first_argument) +
          ": expected a member of an array of structs before it, of as many dimensions");
  if (Error error = addDims(op, kernel))
    return error;
  if (kernel.argument_count && arguments.back().flags & METATE_ARGUMENT_RESULT)
    kernel.flags |= METATE_KERNEL_HAS_RESULT;
  if (auto location = op.getLoc()->findInstanceOf<FileLineColLoc>()) {
    kernel.source = uint32_t(texts.size());
    auto documentation = op->getAttrOfType<StringAttr>(mark::documentation);
    texts.push_back({strings.add(location.getFilename()), location.getLine(), location.getColumn(),
                     documentation ? strings.add(documentation) : 0});
  }
  kernel.signature =
      signatureOf(op.getSymName(), ArrayRef(arguments).drop_front(kernel.first_argument),
                  op.getArguments().getValue());
  kernels.push_back(kernel);
  return Error::success();
}

/// In the order that the format asks for, which is that of the kernels and not that of the operations.
Error DescriptorBuilder::addDerivatives() {
  llvm::StringMap<uint32_t> numbers;
  for (auto [number, op] : llvm::enumerate(module.getOps<InterfaceOp>()))
    if (!op.getSymName().ends_with(METATE_SLICE_SUFFIX))
      numbers[op.getSymName()] = uint32_t(number);
  std::map<std::pair<uint32_t, uint32_t>, uint32_t> found; // by primal and mode
  for (DerivedOp op : module.getOps<DerivedOp>()) {
    for (StringRef name : {op.getKernel(), op.getPrimal()})
      if (!numbers.contains(name))
        return llvm::createStringError("(V6) derivative of '" + op.getPrimal() +
                                       "': the module has no kernel '" + name + "'");
    uint32_t mode =
        op.getMode() == reverseMode ? METATE_DERIVATIVE_REVERSE : METATE_DERIVATIVE_FORWARD;
    if (!found.try_emplace({numbers[op.getPrimal()], mode}, numbers[op.getKernel()]).second)
      return llvm::createStringError("(V6) kernel '" + op.getPrimal() + "' has two derivatives (" +
                                     op.getMode() + ")");
  }
  for (auto [key, kernel] : found)
    derivatives.push_back({key.first, key.second, kernel, 0});
  return Error::success();
}

void DescriptorBuilder::addVariant(const Variant &variant) {
  variants.push_back({variant.arch,
                      variant.level,
                      variant.format,
                      strings.add(variant.cpu),
                      strings.add(variant.features),
                      strings.add(variant.triple),
                      {}});
}

/// Appends a table's records at a multiple of 8.
template <typename Record>
static metate_table append(std::string &bytes, const std::vector<Record> &records) {
  bytes.resize(llvm::alignTo(bytes.size(), 8));
  metate_table table = {uint32_t(bytes.size()), uint32_t(records.size())};
  bytes.append(reinterpret_cast<const char *>(records.data()), records.size() * sizeof(Record));
  return records.empty() ? metate_table{0, 0} : table;
}

std::string DescriptorBuilder::assemble() {
  uint32_t name = strings.add(module.getSymName().value_or("module")), made = strings.add(producer);
  size_t tables = llvm::alignTo(sizeof(metate_descriptor), 8) +
                  types.size() * sizeof(metate_type_info) +
                  kernels.size() * sizeof(metate_kernel_info) +
                  arguments.size() * sizeof(metate_argument_info) +
                  variants.size() * sizeof(metate_variant_info) +
                  texts.size() * sizeof(metate_text) + pools.size() * sizeof(metate_pool_info) +
                  derivatives.size() * sizeof(metate_derivative_info) +
                  dims.size() * sizeof(metate_dim_info) + places.size() * sizeof(metate_place_info);
  uint32_t blobBase = uint32_t(llvm::alignTo(tables, 8)),
           stringBase = uint32_t(blobBase + blobs.size());
  auto resolve = [&](auto &...numbers) { (Strings::resolve(numbers, stringBase), ...); };
  resolve(name, made);
  for (metate_type_info &type : types) {
    resolve(type.name);
    type.offset += blobBase;
  }
  for (metate_kernel_info &kernel : kernels)
    resolve(kernel.name);
  for (metate_argument_info &argument : arguments)
    resolve(argument.name);
  for (metate_variant_info &variant : variants)
    resolve(variant.cpu, variant.features, variant.triple);
  for (metate_text &text : texts)
    resolve(text.file, text.text);
  for (metate_pool_info &pool : pools)
    resolve(pool.name);
  for (metate_dim_info &dim : dims)
    resolve(dim.name);
  for (metate_place_info &place : places)
    resolve(place.memory);

  metate_descriptor head = {};
  head.magic = METATE_DESCRIPTOR_MAGIC;
  head.abi_version = METATE_ABI_VERSION;
  head.name = name;
  head.producer = made;
  std::string bytes(sizeof head, '\0');
  head.types = append(bytes, types);
  head.kernels = append(bytes, kernels);
  head.arguments = append(bytes, arguments);
  head.variants = append(bytes, variants);
  head.texts = append(bytes, texts);
  head.pools = append(bytes, pools);
  head.derivatives = append(bytes, derivatives);
  head.dims = append(bytes, dims);
  head.places = append(bytes, places);
  bytes.resize(blobBase);
  bytes += blobs;
  bytes += strings.bytes; // never empty: it holds the producer; so the last byte is a string's end
  head.bytes = uint32_t(bytes.size());
  std::memcpy(bytes.data(), &head, sizeof head);
  sealWithHash(bytes, offsetof(metate_descriptor, signature_hash));
  return bytes;
}

Expected<std::string> DescriptorBuilder::run(ArrayRef<Variant> given) {
  if (Error error = addTypes())
    return error;
  if (Error error = addTexts())
    return error;
  llvm::StringSet<> names;
  for (InterfaceOp op : module.getOps<InterfaceOp>()) {
    if (!names.insert(op.getSymName()).second)
      return llvm::createStringError("kernel name '" + op.getSymName() + "' is used twice");
    if (Error error = addKernel(op))
      return error;
  }
  if (Error error = addDerivatives())
    return error;
  for (const Variant &variant : given)
    addVariant(variant);
  return assemble();
}

Expected<std::string> metate::buildDescriptor(ModuleOp module, ArrayRef<Variant> variants,
                                              std::optional<int64_t> payload) {
  return DescriptorBuilder(module, payload).run(variants);
}
