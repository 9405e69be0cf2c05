//===- Ops.cpp - kernels, loops, cells: verifiers, syntax -------*- C++ -*-===//
//
// Each verifier's message carries the label of the constraint that Ops.td states.
//
//===----------------------------------------------------------------------===//
#include "metate/Dialect/Format.h"
#include "metate/Dialect/Tree.h"
#include "metate/abi/base.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Interfaces/FunctionImplementation.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace metate;

#include "metate/Dialect/MetateEnums.cpp.inc"

#include "metate/Dialect/MetateOpInterfaces.cpp.inc"

#define GET_OP_CLASSES
#include "metate/Dialect/MetateOps.cpp.inc"

static_assert(int(CheckKind::Capacity) == METATE_E_CAPACITY &&
                  int(CheckKind::OutOfRange) == METATE_E_OUT_OF_RANGE &&
                  int(CheckKind::DivisionByZero) == METATE_E_DIVISION_BY_ZERO,
              "a check's kind is the status that the kernel returns");

//===-- kernel --------------------------------------------------------------===//

void KernelOp::build(OpBuilder &builder, OperationState &state, StringRef name, FunctionType type) {
  state.addAttribute(getSymNameAttrName(state.name), builder.getStringAttr(name));
  state.addAttribute(getFunctionTypeAttrName(state.name), TypeAttr::get(type));
  Region *body = state.addRegion();
  Block &block = body->emplaceBlock();
  for (Type input : type.getInputs())
    block.addArgument(input, state.location);
}

ParseResult KernelOp::parse(OpAsmParser &parser, OperationState &result) {
  auto buildType = [](Builder &builder, ArrayRef<Type> arguments, ArrayRef<Type> results,
                      function_interface_impl::VariadicFlag,
                      std::string &) { return builder.getFunctionType(arguments, results); };
  return function_interface_impl::parseFunctionOp(
      parser, result, /*allowVariadic=*/false, getFunctionTypeAttrName(result.name), buildType,
      getArgAttrsAttrName(result.name), getResAttrsAttrName(result.name));
}

void KernelOp::print(OpAsmPrinter &printer) {
  function_interface_impl::printFunctionOp(printer, *this, /*isVariadic=*/false,
                                           getFunctionTypeAttrName(), getArgAttrsAttrName(),
                                           getResAttrsAttrName());
}

LogicalResult KernelOp::verify() {
  if (!getFunctionType().getResults().empty())
    return emitOpError("(K1) a kernel has no results; its return value is a result array");
  for (Type type : getFunctionType().getInputs())
    if (!isa<TreeType, BlockType, MemRefType, IntegerType, FloatType, IndexType, VectorType>(type))
      return emitOpError("(K2) a kernel argument is a tree, an array, a scalar or a vector, got ")
             << type;
  return success();
}

//===-- loops ---------------------------------------------------------------===//

void YieldOp::build(OpBuilder &, OperationState &) {}

/// Parses `(%a, %b)` as index arguments.
static ParseResult parseIndexArguments(OpAsmParser &parser,
                                       SmallVectorImpl<OpAsmParser::Argument> &arguments) {
  if (parser.parseArgumentList(arguments, OpAsmParser::Delimiter::Paren))
    return failure();
  for (OpAsmParser::Argument &argument : arguments)
    argument.type = parser.getBuilder().getIndexType();
  return success();
}

static void printIndexArguments(OpAsmPrinter &printer, Block *block) {
  printer << " (";
  llvm::interleaveComma(block->getArguments(), printer, [&](BlockArgument argument) {
    printer.printRegionArgument(argument, {}, /*omitType=*/true);
  });
  printer << ")";
}

/// Adds an empty block with `count` index arguments and a yield.
static Block *addLoopBody(OpBuilder &builder, OperationState &state, unsigned count) {
  OpBuilder::InsertionGuard guard(builder);
  Region *region = state.addRegion();
  Block *block = builder.createBlock(region);
  for (unsigned k = 0; k < count; ++k)
    block->addArgument(builder.getIndexType(), state.location);
  YieldOp::create(builder, state.location);
  return block;
}

void RangeOp::build(OpBuilder &builder, OperationState &state, ValueRange lower, ValueRange upper) {
  state.addOperands(lower);
  state.addOperands(upper);
  state.addAttribute(getOperandSegmentSizesAttrName(state.name),
                     builder.getDenseI32ArrayAttr({int32_t(lower.size()), int32_t(upper.size())}));
  addLoopBody(builder, state, lower.size());
}

ParseResult RangeOp::parse(OpAsmParser &parser, OperationState &result) {
  SmallVector<OpAsmParser::Argument> arguments;
  SmallVector<OpAsmParser::UnresolvedOperand> lower, upper;
  Type index = parser.getBuilder().getIndexType();
  if (parseIndexArguments(parser, arguments) || parser.parseEqual() ||
      parser.parseOperandList(lower, OpAsmParser::Delimiter::Paren) || parser.parseKeyword("to") ||
      parser.parseOperandList(upper, OpAsmParser::Delimiter::Paren) ||
      parser.resolveOperands(lower, index, result.operands) ||
      parser.resolveOperands(upper, index, result.operands) ||
      parser.parseOptionalAttrDictWithKeyword(result.attributes) ||
      parser.parseRegion(*result.addRegion(), arguments))
    return failure();
  result.addAttribute(
      getOperandSegmentSizesAttrName(result.name),
      parser.getBuilder().getDenseI32ArrayAttr({int32_t(lower.size()), int32_t(upper.size())}));
  return success();
}

void RangeOp::print(OpAsmPrinter &printer) {
  printIndexArguments(printer, &getBody().front());
  printer << " = (" << getLower() << ") to (" << getUpper() << ")";
  printer.printOptionalAttrDictWithKeyword((*this)->getAttrs(), {getOperandSegmentSizesAttrName()});
  printer << " ";
  printer.printRegion(getBody(), /*printEntryBlockArgs=*/false);
}

LogicalResult RangeOp::verify() {
  Block &block = getBody().front();
  if (getLower().empty() || getLower().size() != getUpper().size() ||
      block.getNumArguments() != getLower().size())
    return emitOpError("(R1) expected as many lower bounds, upper bounds and loop variables, got ")
           << getLower().size() << ", " << getUpper().size() << " and " << block.getNumArguments();
  if (!llvm::all_of(block.getArgumentTypes(), [](Type type) { return type.isIndex(); }))
    return emitOpError("(R1) loop variables are of type index");
  Operation *parent = (*this)->getParentOp();
  if (!isa_and_present<KernelOp>(parent) && !(parent && parent->hasAttr(mark::task)))
    return emitOpError("(R2) a parallel loop stands directly in a kernel or in a task's function");
  return success();
}

void ForEachOp::build(OpBuilder &builder, OperationState &state, Value tree, StringRef path) {
  state.addOperands(tree);
  state.addAttribute(getPathAttrName(state.name), builder.getStringAttr(path));
  std::optional<TreePath> found = findPath(cast<TreeType>(tree.getType()), path);
  addLoopBody(builder, state, found ? found->rank() : 0);
}

/// `(%i, %j) in %tree["path"] : type attributes {...} { body }`
static ParseResult parseTreeLoop(OpAsmParser &parser, OperationState &result, StringAttr pathName) {
  SmallVector<OpAsmParser::Argument> arguments;
  OpAsmParser::UnresolvedOperand tree;
  StringAttr path;
  Type type;
  if (parseIndexArguments(parser, arguments) || parser.parseKeyword("in") ||
      parser.parseOperand(tree) || parser.parseLSquare() || parser.parseAttribute(path) ||
      parser.parseRSquare() || parser.parseColonType(type) ||
      parser.resolveOperand(tree, type, result.operands) ||
      parser.parseOptionalAttrDictWithKeyword(result.attributes) ||
      parser.parseRegion(*result.addRegion(), arguments))
    return failure();
  result.addAttribute(pathName, path);
  return success();
}

static void printTreeLoop(OpAsmPrinter &printer, Operation *op, Value tree, StringAttr path,
                          StringRef pathName) {
  printIndexArguments(printer, &op->getRegion(0).front());
  printer << " in " << tree << "[" << path << "] : " << tree.getType();
  printer.printOptionalAttrDictWithKeyword(op->getAttrs(), {pathName});
  printer << " ";
  printer.printRegion(op->getRegion(0), /*printEntryBlockArgs=*/false);
}

ParseResult ForEachOp::parse(OpAsmParser &parser, OperationState &result) {
  return parseTreeLoop(parser, result, getPathAttrName(result.name));
}

void ForEachOp::print(OpAsmPrinter &printer) {
  printTreeLoop(printer, *this, getTree(), getPathAttr(), getPathAttrName());
}

/// (F1), (F2): the path exists and `expected + rank` index arguments are there.
static LogicalResult verifyTreeLoop(Operation *op, TreeType type, StringRef path, unsigned leading,
                                    const char *missing, const char *arity) {
  std::optional<TreePath> found = findPath(type, path);
  if (!found)
    return op->emitOpError() << missing << " no member or level '" << path
                             << "' in the tree; it has " << knownNames(type);
  Block &block = op->getRegion(0).front();
  if (block.getNumArguments() != leading + found->rank() ||
      !llvm::all_of(block.getArgumentTypes(), [](Type argument) { return argument.isIndex(); }))
    return op->emitOpError() << arity << " expected " << leading + found->rank()
                             << " loop variables of type index for '" << path << "', got "
                             << block.getNumArguments();
  return success();
}

LogicalResult ForEachOp::verify() {
  if (failed(
          verifyTreeLoop(*this, cast<TreeType>(getTree().getType()), getPath(), 0, "(F1)", "(F2)")))
    return failure();
  if (!isa_and_present<KernelOp>((*this)->getParentOp()))
    return emitOpError("(F3) a struct-for stands directly in a kernel");
  return success();
}

void CellsOp::build(OpBuilder &builder, OperationState &state, Value tree, StringRef level,
                    bool changesTopology) {
  state.addOperands(tree);
  state.addAttribute(getLevelAttrName(state.name), builder.getStringAttr(level));
  if (changesTopology)
    state.addAttribute(getChangesTopologyAttrName(state.name), builder.getUnitAttr());
  std::optional<TreePath> found = findPath(cast<TreeType>(tree.getType()), level);
  addLoopBody(builder, state, 1 + (found ? found->rank() : 0));
}

ParseResult CellsOp::parse(OpAsmParser &parser, OperationState &result) {
  return parseTreeLoop(parser, result, getLevelAttrName(result.name));
}

void CellsOp::print(OpAsmPrinter &printer) {
  printTreeLoop(printer, *this, getTree(), getLevelAttr(), getLevelAttrName());
}

LogicalResult CellsOp::verify() {
  auto type = cast<TreeType>(getTree().getType());
  if (failed(verifyTreeLoop(*this, type, getLevel(), 1, "(T1)", "(T2)")))
    return failure();
  std::optional<TreePath> path = findPath(type, getLevel());
  if (path->place || !path->levels.back().hasPool())
    return emitOpError("(T1) expected a level with a pool, got '") << getLevel() << "'";
  return success();
}

//===-- cells ---------------------------------------------------------------===//

/// (C1), (C2): the path exists, as a member if asked, with one coordinate per axis.
static FailureOr<TreePath> verifyCell(Operation *op, TreeType type, StringRef path,
                                      ValueRange coordinates, bool member) {
  std::optional<TreePath> found = findPath(type, path);
  if (!found || (member && !found->place)) {
    op->emitOpError() << "(C1) no " << (member ? "member" : "member or level") << " '" << path
                      << "' in the tree; it has " << knownNames(type);
    return failure();
  }
  if (coordinates.size() != found->rank()) {
    op->emitOpError() << "(C2) expected " << found->rank() << " coordinates for '" << path
                      << "', got " << coordinates.size();
    return failure();
  }
  return *found;
}

/// (C3): the value's type fits the member and the components.
static LogicalResult verifyValue(Operation *op, TreeType type, StringRef name,
                                 ValueRange coordinates, ValueRange components, Type value) {
  FailureOr<TreePath> path = verifyCell(op, type, name, coordinates, /*member=*/true);
  if (failed(path))
    return failure();
  Type expected = signlessType(path->place.getType());
  if (!components.empty()) {
    auto vector = dyn_cast<VectorType>(expected);
    if (!vector || vector.getRank() != int64_t(components.size()))
      return op->emitOpError() << "(C3) member '" << name << "' of type " << expected
                               << " has no component with " << components.size() << " indices";
    expected = vector.getElementType();
  }
  if (value != expected)
    return op->emitOpError() << "(C3) expected a value of type " << expected << ", got " << value;
  return success();
}

LogicalResult LoadOp::verify() {
  return verifyValue(*this, getTreeType(), getPath(), getCoordinates(), getComponents(),
                     getValue().getType());
}

LogicalResult StoreOp::verify() {
  return verifyValue(*this, getTreeType(), getPath(), getCoordinates(), getComponents(),
                     getValue().getType());
}

LogicalResult AtomicOp::verify() {
  if (failed(verifyValue(*this, getTreeType(), getPath(), getCoordinates(), getComponents(),
                         getValue().getType())))
    return failure();
  StringRef kind = arith::stringifyAtomicRMWKind(getKind());
  bool isFloatKind =
      kind.ends_with("f") || kind.starts_with("maxnum") || kind.starts_with("minnum");
  if (kind != "assign" && isFloatKind != isa<FloatType>(getElementTypeOrSelf(getValue().getType())))
    return emitOpError("(C4) kind '")
           << kind << "' does not fit a value of type " << getValue().getType();
  return success();
}

LogicalResult ExchangeIfOp::verify() {
  for (OpOperand &use : getValue().getUses()) {
    Operation *user = use.getOwner();
    auto kind = user->getAttrOfType<arith::AtomicRMWKindAttr>("kind");
    if (!kind || kind.getValue() != arith::AtomicRMWKind::assign || use.getOperandNumber() != 0)
      return emitOpError("(X1) expected to be the value of atomic operations of kind 'assign', but "
                         "is used by '")
             << user->getName() << "'";
  }
  return success();
}

LogicalResult IsActiveOp::verify() {
  return verifyCell(*this, getTreeType(), getPath(), getCoordinates(), /*member=*/false);
}

LogicalResult ActivateOp::verify() {
  return verifyCell(*this, getTreeType(), getPath(), getCoordinates(), /*member=*/false);
}

/// (C2) for a dynamic level: the coordinates are its parent cell's.
static LogicalResult verifyParentCell(Operation *op, const TreePath &path, StringRef name,
                                      ValueRange coordinates) {
  if (coordinates.size() != path.parentRank())
    return op->emitOpError() << "(C2) expected " << path.parentRank()
                             << " coordinates of the parent cell of '" << name << "', got "
                             << coordinates.size();
  return success();
}

LogicalResult DeactivateOp::verify() {
  std::optional<TreePath> path = findPath(getTreeType(), getPath());
  if (!path)
    return emitOpError("(C1) no member or level '")
           << getPath() << "' in the tree; it has " << knownNames(getTreeType());
  int depth = path->lastActivity();
  if (depth < 0)
    return emitOpError("(C5) every cell of '") << getPath() << "' is always active";
  if (!path->levels[depth].isList())
    return verifyCell(*this, getTreeType(), getPath(), getCoordinates(), /*member=*/false);
  if (path->place || size_t(depth) + 1 != path->levels.size())
    return emitOpError("(C6) expected the dynamic level '")
           << levelName(path->levels[depth], depth) << "' itself, got '" << getPath()
           << "' below it";
  return verifyParentCell(*this, *path, getPath(), getCoordinates());
}

/// (C7), (C2) of append and length.
static LogicalResult verifyList(Operation *op, TreeType type, StringRef name,
                                ValueRange coordinates) {
  std::optional<TreePath> path = findPath(type, name);
  if (!path || path->place || !path->levels.back().isList())
    return op->emitOpError() << "(C7) expected a dynamic level, got '" << name << "'; the tree has "
                             << knownNames(type);
  return verifyParentCell(op, *path, name, coordinates);
}

LogicalResult AppendOp::verify() {
  return verifyList(*this, getTreeType(), getPath(), getCoordinates());
}

LogicalResult LengthOp::verify() {
  return verifyList(*this, getTreeType(), getPath(), getCoordinates());
}

LogicalResult UsedOp::verify() {
  std::optional<TreePath> path = findPath(getTreeType(), getPath());
  if (!path)
    return emitOpError("(C1) no member or level '")
           << getPath() << "' in the tree; it has " << knownNames(getTreeType());
  auto level = path->place ? LevelInterface() : dyn_cast<LevelInterface>(path->levels.back());
  if (!level || !level.hasPool())
    return emitOpError("(C8) expected a pointer, dynamic or hash level, got '") << getPath() << "'";
  return success();
}

LogicalResult ReserveOp::verify() {
  if (getAppend())
    return verifyList(*this, getTreeType(), getPath(), getCoordinates());
  return verifyCell(*this, getTreeType(), getPath(), getCoordinates(), /*member=*/false);
}

//===-- numbers and texts ---------------------------------------------------===//

void PhiloxOp::build(OpBuilder &builder, OperationState &state, ArrayRef<Value> counter,
                     ArrayRef<Value> key) {
  assert(counter.size() == 4 && key.size() == 2);
  state.addOperands(counter);
  state.addOperands(key);
  state.addTypes(VectorType::get({4}, builder.getI32Type()));
}

/// Operands of a text: scalars, each in a format that fits it. `labels`: of the two constraints.
static LogicalResult verifyShown(Operation *op, ValueRange values, ArrayRef<StringRef> formats,
                                 std::pair<StringRef, StringRef> labels) {
  for (auto [value, format] : llvm::zip(values, formats)) {
    if (!isa<IntegerType, FloatType, IndexType>(value.getType()))
      return op->emitOpError() << labels.first << "operands are integers or floats, got "
                               << value.getType();
    std::string problem = whyNotFormat(format, isa<FloatType>(value.getType()), /*isSigned=*/false);
    if (!problem.empty())
      return op->emitOpError() << labels.second << problem;
  }
  return success();
}

LogicalResult PrintOp::verify() {
  SmallVector<StringRef> formats;
  for (Attribute part : getParts()) {
    if (isa<StringAttr>(part))
      continue;
    auto format = dyn_cast<ArrayAttr>(part);
    if (!isa<UnitAttr>(part) &&
        !(format && format.size() == 1 && isa<StringAttr>(format.getValue()[0])))
      return emitOpError("(P1) a part is a text, unit or [format], got ") << part;
    formats.push_back(format ? cast<StringAttr>(format.getValue()[0]).getValue() : StringRef());
  }
  if (formats.size() != getValues().size() || getUnsigned_().size() != getValues().size())
    return emitOpError("(P1) expected as many unit parts and unsigned flags as operands (")
           << getValues().size() << "), got " << formats.size() << " and " << getUnsigned_().size();
  return verifyShown(*this, getValues(), formats, {"(P2) ", "(P3) "});
}

void AssertOp::build(OpBuilder &builder, OperationState &state, Value condition,
                     StringRef message) {
  build(builder, state, condition, builder.getStringAttr(message), DenseBoolArrayAttr(),
        ValueRange());
}

LogicalResult AssertOp::verify() {
  size_t count = getValues().size(), flags = getUnsigned_() ? getUnsigned_()->size() : 0;
  if (!getUnsigned_() && count == 0)
    return success(); // a message without operands is as it stands
  FailureOr<SmallVector<MessagePart>> parts = splitMessage(getMessage());
  if (failed(parts))
    return emitOpError("(A1) expected {{ and }} for braces of a message with operands");
  SmallVector<StringRef> formats;
  for (const MessagePart &part : *parts)
    if (part.isHole)
      formats.push_back(part.text);
  if (formats.size() != count || flags != count)
    return emitOpError("(A1) expected as many holes and unsigned flags as operands (")
           << count << "), got " << formats.size() << " and " << flags;
  if (count > 2 * METATE_MAX_RANK)
    return emitOpError("(A1) expected at most ")
           << 2 * METATE_MAX_RANK << " operands, got " << count;
  return verifyShown(*this, getValues(), formats, {"(A2) ", "(A3) "});
}

LogicalResult CheckOp::verify() {
  size_t rank = getIndex().size(), extents = getShape().size();
  bool hasShape = getKind() == CheckKind::OutOfRange;
  bool hasIndex = hasShape || getKind() == CheckKind::Capacity;
  if (hasShape && (rank == 0 || extents != rank))
    return emitOpError("(D1) expected an index and as many extents, got ")
           << rank << " and " << extents;
  if (rank > METATE_MAX_RANK)
    return emitOpError("(D2) expected at most ") << METATE_MAX_RANK << " indices, got " << rank;
  if (!hasShape && ((rank != 0) != hasIndex || extents != 0))
    return emitOpError("(D3) expected ")
           << (hasIndex ? "an index and no extents" : "neither an index nor extents") << ", got "
           << rank << " and " << extents;
  return success();
}

LogicalResult CheckOp::canonicalize(CheckOp op, PatternRewriter &rewriter) {
  if (!matchPattern(op.getCondition(), m_One()))
    return failure();
  rewriter.eraseOp(op);
  return success();
}
