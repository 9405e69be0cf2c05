//===- TaskOps.cpp - tasks, interfaces: syntax and verifiers ----*- C++ -*-===//
//
// Each verifier's message carries the label of the constraint that the ODS text states.
//
//===----------------------------------------------------------------------===//
#include "metate/Dialect/Tree.h"
#include "metate/abi/base.h"
#include "metate/abi/module.h"
#include "metate/abi/pool.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace metate;

ParseResult SerialOp::parse(OpAsmParser &parser, OperationState &result) {
  SmallVector<Type> types;
  if (parser.parseOptionalArrowTypeList(types) ||
      parser.parseOptionalAttrDictWithKeyword(result.attributes) ||
      parser.parseRegion(*result.addRegion()))
    return failure();
  result.addTypes(types);
  return success();
}

void SerialOp::print(OpAsmPrinter &printer) {
  printer.printOptionalArrowTypeList(getResultTypes());
  printer.printOptionalAttrDictWithKeyword((*this)->getAttrs());
  printer << " ";
  printer.printRegion(getBody(), /*printEntryBlockArgs=*/false);
}

LogicalResult SerialOp::verify() {
  auto yield = cast<YieldOp>(getBody().front().getTerminator());
  if (yield.getOperandTypes() != getResultTypes())
    return emitOpError("expected the yielded types to be the result types");
  return success();
}

//===-- interface -----------------------------------------------------------===//

/// (G2) for everything that is not a tree.
static bool isArgumentScalar(Type type) {
  if (auto integer = dyn_cast<IntegerType>(type))
    return llvm::is_contained({1, 8, 16, 32, 64}, int(integer.getWidth()));
  return isa<IndexType, Float16Type, BFloat16Type, Float32Type, Float64Type>(type);
}

bool metate::isExtent(Attribute extent) {
  if (isa<DimAttr>(extent))
    return true;
  auto number = dyn_cast<IntegerAttr>(extent);
  return number && number.getType().isInteger(64) && number.getInt() >= -1;
}

/// As C has them.
static bool isPlainName(StringRef name) {
  return !name.empty() && !llvm::isDigit(name[0]) &&
         llvm::all_of(name, [](char c) { return llvm::isAlnum(c) || c == '_'; });
}

LogicalResult ArgumentAttr::verify(function_ref<InFlightDiagnostic()> emitError, StringRef name,
                                   StringRef kind, Type type, ArrayRef<int64_t> element,
                                   int64_t rank, int64_t access, int64_t flags, ArrayAttr shape) {
  auto wrong = [&](StringRef label) {
    return emitError() << label << " argument '" << name << "': ";
  };
  bool isTree = kind == "tree", isArray = kind == "ndarray", isVector = kind == "vector";
  if (!isTree && !isArray && !isVector && kind != "scalar")
    return wrong("(G1)") << "expected kind scalar, vector, ndarray or tree, got '" << kind << "'";
  if (isTree ? !isa<TreeType>(type) : !isArgumentScalar(type))
    return wrong("(G2)") << "expected a " << (isTree ? "tree" : "scalar") << " type, got " << type;
  int64_t scalars = 1;
  for (int64_t extent : element)
    scalars = extent < 1 || extent > (1 << 16) ? 0 : std::min<int64_t>(scalars * extent, 1 << 20);
  if (element.size() > 2 || (isVector && element.empty()) || scalars < 1 || scalars > (1 << 16) ||
      (!element.empty() && !isVector && !isArray))
    return wrong("(G3)") << "element dimensions [" << element << "] do not fit kind '" << kind
                         << "'";
  if (isArray ? rank < int64_t(element.size()) || rank > METATE_MAX_RANK : rank != 0)
    return wrong("(G4)") << "rank " << rank << " does not fit kind '" << kind << "' with "
                         << element.size() << " element dimensions";
  if ((access & ~int64_t(METATE_ACCESS_READ | METATE_ACCESS_WRITE | METATE_ACCESS_ACTIVATE |
                         METATE_ACCESS_SORT | METATE_ACCESS_BEFORE)) ||
      (flags & ~int64_t(METATE_ARGUMENT_CONTIGUOUS | METATE_ARGUMENT_RESULT | METATE_ARGUMENT_LONG |
                        METATE_ARGUMENT_MEMBER)))
    return wrong("(G5)") << "unknown bits in access " << access << " or flags " << flags;
  if (shape && (!isArray || int64_t(shape.size() + element.size()) != rank ||
                !llvm::all_of(shape, isExtent)))
    return wrong("(G7)") << "expected a number or a #metate.dim for each of "
                         << rank - int64_t(element.size()) << " dimensions, got " << shape;
  return success();
}

LogicalResult DimAttr::verify(function_ref<InFlightDiagnostic()> emitError, StringRef name,
                              int64_t min, int64_t max, int64_t multiple) {
  if (!isPlainName(name))
    return emitError() << "(G6) expected a dim's name of letters, digits and underscores, got '"
                       << name << "'";
  if (min < 0 || max < min || max > METATE_LARGEST_EXTENT || multiple < 1 || multiple > INT32_MAX ||
      llvm::divideCeil(uint64_t(min), uint64_t(multiple)) * uint64_t(multiple) > uint64_t(max))
    return emitError() << "(G6) dim '" << name << "': expected bounds with a multiple of "
                       << multiple << " between them, at most 2^62 - 1, got " << min << " to "
                       << max;
  return success();
}

void InterfaceOp::build(OpBuilder &builder, OperationState &state, StringRef name, StringRef entry,
                        ArrayAttr arguments, int64_t tasks, bool mayAlias, bool debug) {
  build(builder, state, builder.getStringAttr(name), builder.getStringAttr(entry), arguments,
        builder.getI64IntegerAttr(tasks), mayAlias ? builder.getUnitAttr() : UnitAttr(),
        debug ? builder.getUnitAttr() : UnitAttr(), ArrayAttr());
}

//===-- planned memory ------------------------------------------------------===//

LogicalResult PoolAttr::verify(function_ref<InFlightDiagnostic()> emitError, StringRef name,
                               PoolKind, int64_t bytes, int64_t align, int64_t scale,
                               ArrayRef<int64_t> factors, int64_t variant, StringRef) {
  constexpr int64_t largestAlign = 4096; // a page: what hosts can give
  if (align < 1 || align > largestAlign || !llvm::isPowerOf2_64(uint64_t(align)) || bytes < 0 ||
      scale < 0 || variant < -1)
    return emitError() << "(B1) pool '" << name << "': expected sizes of at least 0 and a power of "
                       << "two up to 4096 as alignment, got bytes " << bytes << ", scale " << scale
                       << ", align " << align;
  if (factors.size() > METATE_POOL_FACTORS || (!factors.empty() && !scale))
    return emitError() << "(B2) pool '" << name << "': expected at most "
                       << int(METATE_POOL_FACTORS) << " factors of a scale, got " << factors.size()
                       << " of " << scale;
  if (!isPlainName(name))
    return emitError() << "(B3) expected a pool's name of letters, digits and underscores, got '"
                       << name << "'";
  return success();
}

LogicalResult PoolOp::verify() {
  SmallVector<int64_t> slots(getFactors().size());
  if (failed(PoolAttr::verify([&] { return emitOpError("(Q1) "); }, getName(), getKind(),
                              getBytes(), getAlign(), getScale(), slots, -1, "")))
    return failure();
  if (int64_t(getOffset()) < 0 || getOffset() > getBytes())
    return emitOpError("(Q1) expected an offset in the pool, got ") << getOffset();
  auto kernel = (*this)->getParentOfType<KernelOp>();
  for (Value factor : getFactors()) {
    auto argument = dyn_cast<BlockArgument>(factor);
    if (!argument || !kernel || argument.getOwner() != &kernel.getBody().front())
      return emitOpError("(Q2) expected factors that are arguments of the kernel");
  }
  if (getKind() == PoolKind::Worker && !(*this)->getParentOfType<RangeOp>() &&
      !isa<KernelOp>((*this)->getParentOp()))
    return emitOpError("(Q3) expected a worker's pool in a range or directly in the kernel");
  return success();
}

LogicalResult PoolBytesOp::verify() {
  if (!getPool().getDefiningOp<PoolOp>())
    return emitOpError("(Q4) expected a metate.pool as operand");
  return success();
}

/// A worker's own memory is what it is only where he works.
Speculation::Speculatability PoolOp::getSpeculatability() {
  return getKind() == PoolKind::Launch ? Speculation::Speculatable : Speculation::NotSpeculatable;
}

//===-- tasks as functions --------------------------------------------------===//

/// (L3)
static LogicalResult verifyTask(LaunchOp launch, func::FuncOp task) {
  auto ranges = task.getBody().getOps<RangeOp>();
  if (!llvm::hasSingleElement(task.getBody()) ||
      (!ranges.empty() && !llvm::hasSingleElement(ranges)))
    return launch.emitOpError("(L3) expected a task of one block with at most one metate.range");
  auto isKnown = [&](Value bound) {
    Operation *op = bound.getDefiningOp();
    return !op || op->hasTrait<OpTrait::ConstantLike>();
  };
  for (RangeOp range : ranges)
    if (!llvm::all_of(range->getOperands(), isKnown))
      return launch.emitOpError("(L3) expected bounds that are arguments or constants of the task");
  return success();
}

LogicalResult LaunchOp::verifySymbolUses(SymbolTableCollection &symbols) {
  auto task = symbols.lookupNearestSymbolFrom<func::FuncOp>(*this, getTaskAttr());
  if (!task || task.isExternal() || !task->hasAttr(mark::task))
    return emitOpError("(L1) expected a func.func with a body, marked '")
           << mark::task << "', got '" << getTask() << "'";
  if (task.getArgumentTypes() != getOperandTypes() || task.getResultTypes() != getResultTypes())
    return emitOpError("(L2) expected operands and results of the task's type ")
           << task.getFunctionType() << ", got "
           << FunctionType::get(getContext(), getOperandTypes(), getResultTypes());
  return verifyTask(*this, task);
}

LogicalResult SnapshotOp::verify() {
  std::optional<TreePath> path = findPath(cast<TreeType>(getTree().getType()), getLevel());
  if (!path || path->place || !path->levels.back().hasEntryCopy())
    return emitOpError("(N1) expected a bitmasked or dynamic level, got '") << getLevel() << "'";
  return success();
}

/// The level right below the last pool, where a path ends with one that is stored in the slot; null else.
static LevelInterface leafLevel(TreeType tree, StringRef name) {
  std::optional<TreePath> path = findPath(tree, name);
  if (!path || path->lastPool() < 0 || size_t(path->lastPool()) + 2 != path->levels.size() ||
      path->levels.back().hasPool())
    return {};
  return path->levels.back();
}

/// (V3)
static LogicalResult verifyWords(Operation *op, LevelInterface leaf, ArrayRef<int32_t> words) {
  int64_t cells = 1;
  for (int64_t extent : leaf.getLevelExtents())
    cells *= extent;
  if (leaf.hasMask() && int64_t(words.size()) == (cells + 31) / 32 &&
      (cells % 32 == 0 || uint32_t(words.back()) >> cells % 32 == 0))
    return success();
  return op->emitOpError("(V3) expected words of the mask of a bitmasked leaf of ")
         << cells << " cells, got " << words.size() << " of a " << leaf.getKindName() << " one";
}

LogicalResult ActivateLeafOp::verify() {
  LevelInterface leaf = leafLevel(cast<TreeType>(getTree().getType()), getPath());
  LevelInterface like = leaf;
  if (getLike())
    like = leafLevel(cast<TreeType>(getLike().getType()), getLikePath().value_or(""));
  if (!leaf || !like || levelAxes(leaf) != levelAxes(like) ||
      leaf.getLevelExtents() != like.getLevelExtents())
    return emitOpError("(V1) expected leaves of the same axes and extents right below the last "
                       "pool, got '")
           << getPath() << "' and '" << getLikePath().value_or(getPath()) << "'";
  size_t rank = findPath(cast<TreeType>(getTree().getType()), getPath())->rank();
  if (getCoordinates().size() != rank)
    return emitOpError("(V2) expected ") << rank << " coordinates, got " << getCoordinates().size();
  if (!getCells())
    return (*this)->getParentOfType<CellsOp>()
               ? success()
               : emitOpError("(V4) expected words, or a metate.cells around it");
  if (getLike())
    return emitOpError("(V3) expected words or the cells of another leaf, got both");
  return verifyWords(*this, leaf, *getCells());
}

/// (V1), (V2) of what deactivates cells of one leaf.
template <typename Op> static LogicalResult verifyLeaf(Op op) {
  auto type = cast<TreeType>(op.getTree().getType());
  LevelInterface leaf = leafLevel(type, op.getPath());
  if (!leaf || !leaf.hasMask() || hasPools(leaf))
    return op.emitOpError("(V1) expected a bitmasked level right below the last pool, and none "
                          "below it, got '")
           << op.getPath() << "'";
  size_t rank = findPath(type, op.getPath())->rank();
  if (op.getCoordinates().size() != rank)
    return op.emitOpError("(V2) expected ")
           << rank << " coordinates, got " << op.getCoordinates().size();
  return success();
}

LogicalResult DeactivateLeafOp::verify() {
  if (failed(verifyLeaf(*this)))
    return failure();
  return verifyWords(*this, leafLevel(cast<TreeType>(getTree().getType()), getPath()), getCells());
}

LogicalResult DeactivateWordOp::verify() { return verifyLeaf(*this); }

/// Whether a path is a member whose leaf is one level with all of its cells in a slot, over all axes.
static bool isPlainLeaf(const std::optional<TreePath> &path) {
  int pool = path ? path->lastPool() : -1;
  return path && path->place && pool >= 0 && size_t(pool) + 2 == path->levels.size() &&
         !path->levels.back().hasPool() && levelAxes(path->levels.back()) == path->axes;
}

LogicalResult StageLeafOp::verify() {
  std::optional<TreePath> path = findPath(cast<TreeType>(getTree().getType()), getPath());
  if (!isPlainLeaf(path))
    return emitOpError("(S1) expected a member whose leaf is one dense or bitmasked level over all "
                       "its axes, got '")
           << getPath() << "'";
  size_t rank = path->rank();
  if (getBase().size() != rank || getLow().size() != rank || getHigh().size() != rank)
    return emitOpError("(S2) expected ")
           << rank << " bases and halo widths, got " << getBase().size() << ", " << getLow().size()
           << " and " << getHigh().size();
  SmallVector<int64_t> shape;
  for (unsigned k = 0; k < rank; ++k) {
    int64_t extent = path->extentBelow(path->lastPool(), k);
    if (getLow()[k] < 0 || getHigh()[k] < 0 || getLow()[k] > extent || getHigh()[k] > extent)
      return emitOpError("(S2) expected halo widths from 0 to ") << extent << " along axis " << k;
    shape.push_back(getLow()[k] + extent + getHigh()[k]);
  }
  Type expected = MemRefType::get(shape, signlessType(path->place.getType()));
  if (getTile().getType() != expected)
    return emitOpError("(S3) expected a tile of type ")
           << expected << ", got " << getTile().getType();
  ArrayRef<int64_t> parts = getParts().value_or(ArrayRef<int64_t>());
  for (auto [k, direction] : llvm::enumerate(parts))
    if (parts.size() % rank != 0 || direction < -1 || direction > 1 ||
        (direction == -1 && getLow()[k % rank] == 0) ||
        (direction == 1 && getHigh()[k % rank] == 0))
      return emitOpError("(S4) expected parts of ")
             << rank << " directions each, -1, 0 or 1 where there is a halo";
  return success();
}

LogicalResult IsLeafFullOp::verify() {
  auto cells = cast<CellsOp>((*this)->getParentOp());
  std::optional<TreePath> path = findPath(cast<TreeType>(getTree().getType()), getPath());
  std::optional<TreePath> slots =
      findPath(cast<TreeType>(cells.getTree().getType()), cells.getLevel());
  if (getTree() != cells.getTree() || !path || !slots || !path->levels.back().hasMask() ||
      path->levels.size() != slots->levels.size() + 1 ||
      ArrayRef(path->levels).drop_back() != ArrayRef(slots->levels))
    return emitOpError("(V5) expected a bitmasked level right below '")
           << cells.getLevel() << "', which the task goes over, got '" << getPath() << "'";
  return success();
}

LogicalResult StageRowOp::verify() {
  std::optional<TreePath> path = findPath(cast<TreeType>(getTree().getType()), getPath());
  if (!isPlainLeaf(path) || !path->place.getType().isIntOrFloat())
    return emitOpError("(S5) expected a scalar member whose leaf is one dense or bitmasked level "
                       "over all its axes, got '")
           << getPath() << "'";
  size_t rank = path->rank();
  if (getBase().size() != rank || getAt().size() != rank - 1 || getLow().size() != rank - 1 ||
      getHigh().size() != rank - 1)
    return emitOpError("(S6) expected ")
           << rank << " bases, and an index and halo widths for all axes but the last, got "
           << getBase().size() << ", " << getAt().size() << ", " << getLow().size() << " and "
           << getHigh().size();
  auto extent = [&](unsigned k) { return path->extentBelow(path->lastPool(), k); };
  for (unsigned k = 0; k + 1 < rank; ++k)
    if (getLow()[k] < 0 || getHigh()[k] < 0 || getLow()[k] > extent(k) || getHigh()[k] > extent(k))
      return emitOpError("(S6) expected halo widths from 0 to ")
             << extent(k) << " along axis " << k;
  int64_t length = extent(rank - 1), shift = getShift();
  if (shift < -length || shift > length)
    return emitOpError("(S6) expected a shift of at most ") << length << ", got " << shift;
  Type expected = MemRefType::get(length, signlessType(path->place.getType()));
  if (getRow().getType() != expected)
    return emitOpError("(S7) expected a row of type ")
           << expected << ", got " << getRow().getType();
  return success();
}
