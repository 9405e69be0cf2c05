//===- StaticCode.cpp - the entries of a static carrier ---------*- C++ -*-===//
//
// One LLVM module: the descriptor's bytes, the table of entries, and for each kernel its direct and
// its packed entry, on top of the support code of Support/, which the build has compiled to bitcode
// for each architecture. Must not look at kernels' code: that is the payload's.
//
//===----------------------------------------------------------------------===//
#include "metate/Emit/Architecture.h"
#include "metate/Emit/Link.h"
#include "metate/Emit/SourceType.h"
#include "metate/Module/Static.h"
#include "metate/Module/SupportSource.h"
#include "metate/Mutants/Mutants.h"

#include "metate/abi/kernel.h"
#include "metate/abi/library.h"

#include "llvm/Bitcode/BitcodeReader.h"
#include "llvm/Bitcode/BitcodeWriter.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/Linker/Linker.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Target/TargetMachine.h"

using namespace llvm;
using namespace metate;

// Support/'s bitcode, one blob a source and an architecture (SupportCode.S).
#define METATE_SUPPORT_CODE(name)                                                                  \
  extern "C" const char metate_bitcode_##name##_begin[], metate_bitcode_##name##_end[];            \
  static StringRef name() {                                                                        \
    return {metate_bitcode_##name##_begin,                                                         \
            size_t(metate_bitcode_##name##_end - metate_bitcode_##name##_begin)};                  \
  }
#define METATE_SUPPORT_OF_SYSTEM(support, flags)                                                   \
  METATE_SUPPORT_CODE(Block_##support)                                                             \
  METATE_SUPPORT_CODE(Packed_##support)                                                            \
  METATE_SUPPORT_CODE(Session_##support)                                                           \
  METATE_SUPPORT_CODE(Describe_##support)
#define METATE_SUPPORT_ALONE METATE_SUPPORT_OF_SYSTEM
#define METATE_SUPPORT_SOURCE(support, flags) METATE_SUPPORT_CODE(Block_##support)
#include "metate/Emit/Architectures.def"

namespace {
/// A row of Architectures.def.
struct Support {
  StringLiteral name;
  StringRef (*block)(), (*packed)(), (*session)(), (*description)();
};
} // namespace
static constexpr Support supports[] = {
#define METATE_SUPPORT_OF_SYSTEM(support, flags)                                                   \
  {#support, Block_##support, Packed_##support, Session_##support, Describe_##support},
#define METATE_SUPPORT_ALONE METATE_SUPPORT_OF_SYSTEM
#include "metate/Emit/Architectures.def"
};

/// Is the code for a machine without a system? C source is for any.
static bool isBareModule(const Module &module) {
  const Architecture *architecture = architectureOf(module.getTargetTriple());
  return architecture && architecture->isBare();
}

namespace {
/// Writes the entries into one module.
class Writer {
public:
  Writer(const StaticModule &description, Module &module)
      : description(description), module(module), context(module.getContext()),
        isBare(isBareModule(module)), isSource(module.getTargetTriple().getTriple().empty()),
        pointer(PointerType::get(context, 0)), i8(Type::getInt8Ty(context)),
        i32(Type::getInt32Ty(context)), i64(Type::getInt64Ty(context)) {}

  void run(ArrayRef<StringRef> entries);

private:
  Constant *addDescriptor();
  GlobalVariable *addModule(Constant *descriptor, ArrayRef<Function *> entries);
  void addReset(const StaticType &type, Constant *descriptor);
  void addDirect(const StaticKernel &kernel, Function *entry);
  void checkExtents(IRBuilder<> &builder, const StaticKernel &kernel, Function *function);
  std::vector<std::vector<Value *>> extentsOf(const StaticKernel &kernel, Function *function);
  void addPacked(const StaticKernel &kernel, unsigned number, Function *entry,
                 Constant *descriptor);
  void addText(const Twine &name, StringRef text);
  void addSession(const StaticSession &session, GlobalVariable *own);
  void pack(IRBuilder<> &builder, const StaticKernel &kernel, Function *function, Value *slots);
  Value *extended(IRBuilder<> &builder, Value *value, uint32_t dtype);
  Type *scalarType(uint32_t dtype);
  Function *define(StringRef name, FunctionType *type, ArrayRef<std::string> declared);
  Function *definePacked(StringRef name);
  FunctionCallee support(StringRef name, Type *result, ArrayRef<Type *> parameters) {
    return module.getOrInsertFunction(name, FunctionType::get(result, parameters, false));
  }
  FunctionCallee supportOfPacked(StringRef name, ArrayRef<Type *> parameters,
                                 ArrayRef<StringRef> declared);
  Value *slot(IRBuilder<> &builder, Value *slots, unsigned number) {
    return builder.CreateConstInBoundsGEP1_64(i64, slots, number);
  }

  const StaticModule &description;
  Module &module;
  LLVMContext &context;
  bool isBare;   ///< nobody walks through the stack
  bool isSource; ///< C is printed of it
  PointerType *pointer;
  IntegerType *i8, *i32, *i64;
};
} // namespace

/// As a C parameter or an array's element has it; half-sized floats are their bits.
Type *Writer::scalarType(uint32_t dtype) {
  switch (dtype) {
  case METATE_U1:
  case METATE_I8:
  case METATE_U8:
    return i8;
  case METATE_I16:
  case METATE_U16:
  case METATE_F16:
  case METATE_BF16:
    return Type::getInt16Ty(context);
  case METATE_I32:
  case METATE_U32:
    return i32;
  case METATE_F32:
    return Type::getFloatTy(context);
  case METATE_F64:
    return Type::getDoubleTy(context);
  default:
    return i64;
  }
}

/// A scalar as its slot holds it (abi/metate/abi/kernel.h).
Value *Writer::extended(IRBuilder<> &builder, Value *value, uint32_t dtype) {
  switch (dtype) {
  case METATE_U1:
    return builder.CreateZExt(builder.CreateIsNotNull(value), i64);
  case METATE_I8:
  case METATE_I16:
  case METATE_I32:
    return builder.CreateSExt(value, i64);
  case METATE_F32:
    return builder.CreateZExt(builder.CreateBitCast(value, i32), i64);
  case METATE_F64:
    return builder.CreateBitCast(value, i64);
  default:
    return builder.CreateZExtOrTrunc(value, i64);
  }
}

/// `declared`: the header's types of its parameters.
Function *Writer::define(StringRef name, FunctionType *type, ArrayRef<std::string> declared) {
  auto *function = Function::Create(type, GlobalValue::ExternalLinkage, name, module);
  function->addFnAttr(sourceTypeAttribute, "int32_t");
  for (auto [k, parameter] : enumerate(declared))
    function->addParamAttr(k, Attribute::get(context, sourceTypeAttribute, parameter));
  if (!isBare)
    function->setUWTableKind(UWTableKind::Async);
  function->addFnAttr(Attribute::NoUnwind);
  BasicBlock::Create(context, "", function);
  return function;
}

/// A function by tvm-ffi's convention.
Function *Writer::definePacked(StringRef name) {
  Function *function = define(name, FunctionType::get(i32, {pointer, pointer, i32, pointer}, false),
                              {"void *", "const void *", "int32_t", "void *"});
  function->addFnAttr(sourceGuardAttribute, "METATE_NO_PACKED");
  return function;
}

/// What packed entries call, with its types where C is printed: there it is text of its own (staticSupport).
FunctionCallee Writer::supportOfPacked(StringRef name, ArrayRef<Type *> parameters,
                                       ArrayRef<StringRef> declared) {
  FunctionCallee callee = support(name, i32, parameters);
  auto *function = cast<Function>(callee.getCallee());
  if (!isSource || function->hasFnAttribute(sourceTypeAttribute))
    return callee;
  function->addFnAttr(sourceTypeAttribute, "int32_t");
  for (auto [k, type] : enumerate(declared))
    function->addParamAttr(k, Attribute::get(context, sourceTypeAttribute, type));
  return callee;
}

/// Of a library in a section of its own, behind the record that is filled when the file is sealed.
Constant *Writer::addDescriptor() {
  bool isLibrary = description.form == StaticForm::Library;
  std::string bytes(isLibrary ? sizeof(metate_library) : 0, '\0');
  size_t begin = bytes.size();
  bytes += description.descriptor;
  Constant *value = ConstantDataArray::getString(context, bytes, false);
  auto *variable = new GlobalVariable(module, value->getType(), true, GlobalValue::InternalLinkage,
                                      value, "descriptor");
  variable->setAlignment(Align(METATE_BLOCK_ALIGN));
  if (!isLibrary)
    return variable;
  variable->setSection(METATE_LIBRARY_SECTION);
  return ConstantExpr::getInBoundsGetElementPtr(i8, variable, ConstantInt::get(i64, begin));
}

/// `struct metate_static_module` of the header.
GlobalVariable *Writer::addModule(Constant *descriptor, ArrayRef<Function *> entries) {
  SmallVector<Constant *> list(entries.begin(), entries.end());
  ArrayType *tableType = ArrayType::get(pointer, list.size());
  auto *table = new GlobalVariable(module, tableType, true, GlobalValue::InternalLinkage,
                                   ConstantArray::get(tableType, list), "entries");
  table->addAttribute(
      sourceTypeAttribute,
      "int32_t (*const @[" + std::to_string(list.size()) +
          "])(const union metate_slot *, void *const *, const struct metate_host *)");
  Constant *fields[] = {descriptor, ConstantInt::get(i64, description.descriptor.size()), table,
                        ConstantInt::get(i32, list.size()), ConstantInt::get(i32, 0)};
  Constant *value = ConstantStruct::getAnon(fields);
  auto *made = new GlobalVariable(module, value->getType(), true, GlobalValue::ExternalLinkage,
                                  value, description.moduleSymbol());
  made->addAttribute(sourceTypeAttribute, "const struct metate_static_module");
  return made;
}

void Writer::addReset(const StaticType &type, Constant *descriptor) {
  Function *function = define(type.symbol + "_reset", FunctionType::get(i32, {pointer, i64}, false),
                              {"void *", "uint64_t"});
  IRBuilder<> builder(&function->getEntryBlock());
  Value *blob = builder.CreateConstInBoundsGEP1_64(i8, descriptor, type.info->offset);
  builder.CreateRet(
      builder.CreateCall(support("metate_support_block_reset", i32, {pointer, pointer, i64}),
                         {blob, function->getArg(0), function->getArg(1)}));
}

/// By argument and dimension, as far as they are parameters or constants.
std::vector<std::vector<Value *>> Writer::extentsOf(const StaticKernel &kernel,
                                                    Function *function) {
  std::vector<std::vector<Value *>> extents;
  for (const metate_argument_info &info : kernel.arguments) {
    extents.emplace_back();
    for (uint32_t k = 0; k < info.rank; ++k)
      extents.back().push_back(ConstantInt::getSigned(i64, info.fixed[k]));
  }
  for (auto [number, parameter] : enumerate(kernel.parameters))
    for (auto [argument, info] : enumerate(kernel.arguments))
      for (uint32_t k = 0; k < info.rank; ++k)
        if (parameter.isExtentOf(unsigned(argument), k, info.fixed[k]))
          extents[argument][k] = function->getArg(number);
  return extents;
}

/// Stores a direct entry's parameters into the slots.
void Writer::pack(IRBuilder<> &builder, const StaticKernel &kernel, Function *function,
                  Value *slots) {
  std::vector<std::vector<Value *>> extents = extentsOf(kernel, function), strides;
  for (const metate_argument_info &info : kernel.arguments)
    strides.emplace_back(info.rank, nullptr);
  for (auto [number, parameter] : enumerate(kernel.parameters))
    if (parameter.kind == StaticParameter::Stride)
      strides[parameter.argument][parameter.dimension] = function->getArg(number);
  for (auto [number, parameter] : enumerate(kernel.parameters)) {
    if (parameter.kind != StaticParameter::Itself)
      continue;
    const metate_argument_info &info = kernel.arguments[parameter.argument];
    Value *value = function->getArg(number);
    if (info.kind == METATE_ARGUMENT_VECTOR) {
      Type *element = scalarType(info.dtype);
      for (uint32_t k = 0; k < info.slot_count; ++k) {
        Value *from = builder.CreateConstInBoundsGEP1_64(element, value, k);
        builder.CreateStore(extended(builder, builder.CreateLoad(element, from), info.dtype),
                            slot(builder, slots, info.first_slot + k));
      }
      continue;
    }
    if (info.kind == METATE_ARGUMENT_SCALAR)
      value = extended(builder, value, info.dtype);
    else // an address may fill half of its slot
      value = builder.CreatePtrToInt(value, i64);
    builder.CreateStore(value, slot(builder, slots, info.first_slot));
    Value *dense = ConstantInt::get(i64, 1);
    for (uint32_t k = info.kind == METATE_ARGUMENT_NDARRAY ? info.rank : 0; k-- > 0;) {
      unsigned from = isMutant(Mutant::DirectExtentsReversed) ? info.rank - 1 - k : k;
      builder.CreateStore(extents[parameter.argument][from],
                          slot(builder, slots, info.first_slot + 1 + k));
      Value *stride = strides[parameter.argument][k];
      builder.CreateStore(stride ? stride : dense,
                          slot(builder, slots, info.first_slot + 1 + info.rank + k));
      dense = builder.CreateMul(dense, extents[parameter.argument][k]);
    }
    if (info.access & METATE_ACCESS_ACTIVATE)
      builder.CreateCall(
          support("metate_support_clear_status", Type::getVoidTy(context), {pointer}),
          {function->getArg(number)});
  }
}

/// What the code counts on: an extent that is not its dim's, or not that of the other members of its array of structs, ends the call.
void Writer::checkExtents(IRBuilder<> &builder, const StaticKernel &kernel, Function *function) {
  Value *holds = builder.getTrue();
  auto require = [&](CmpInst::Predicate predicate, Value *value, int64_t bound) {
    Value *one = builder.CreateICmp(predicate, value, ConstantInt::getSigned(i64, bound));
    holds = builder.CreateAnd(holds, one);
  };
  for (auto [number, parameter] : enumerate(kernel.parameters)) {
    if (parameter.required >= -1)
      continue;
    const metate_dim_info &dim = kernel.dims[METATE_EXTENT_OF_DIM(parameter.required)];
    Value *extent = function->getArg(number);
    require(CmpInst::ICMP_SGE, extent, dim.min);
    if (!isMutant(Mutant::DirectMaximumUnchecked))
      require(CmpInst::ICMP_SLE, extent, dim.max);
    if (dim.multiple > 1)
      require(CmpInst::ICMP_EQ,
              dim.max > UINT32_MAX
                  ? builder.CreateURem(extent, ConstantInt::get(i64, dim.multiple))
                  : builder.CreateZExt(builder.CreateURem(builder.CreateTrunc(extent, i32),
                                                          ConstantInt::get(i32, dim.multiple)),
                                       i64),
              0);
  }
  bool hasMembers = false;
  std::vector<std::vector<Value *>> extents = extentsOf(kernel, function);
  for (auto [k, info] : enumerate(kernel.arguments)) {
    if (!(info.flags & METATE_ARGUMENT_MEMBER) || isMutant(Mutant::DirectMembersUnchecked))
      continue;
    for (uint32_t d = 0; d < info.rank - info.element_rank; ++d)
      if (Value *own = extents[k][d], *before = extents[k - 1][d]; own != before) {
        hasMembers = true;
        holds = builder.CreateAnd(holds, builder.CreateICmpEQ(own, before));
      }
  }
  if (kernel.dims.empty() && !hasMembers)
    return;
  BasicBlock *fails = BasicBlock::Create(context, "", function),
             *goes = BasicBlock::Create(context, "", function);
  builder.CreateCondBr(holds, goes, fails);
  builder.SetInsertPoint(fails);
  builder.CreateRet(ConstantInt::get(i32, METATE_E_INVALID_ARGUMENT));
  builder.SetInsertPoint(goes);
}

void Writer::addDirect(const StaticKernel &kernel, Function *entry) {
  SmallVector<Type *> types;
  SmallVector<std::string> declared;
  for (const StaticParameter &parameter : kernel.parameters) {
    StringRef type = StringRef(parameter.type).rtrim();
    declared.push_back(parameter.suffix.empty() ? type.str()
                                                : (type + " @" + parameter.suffix).str());
    const metate_argument_info &info = kernel.arguments[parameter.argument];
    types.push_back(parameter.kind != StaticParameter::Itself ? i64
                    : info.kind == METATE_ARGUMENT_SCALAR     ? scalarType(info.dtype)
                                                              : pointer);
  }
  types.append({pointer, pointer});
  declared.append({"void *const *", "const struct metate_host *"});
  Function *function = define(kernel.direct, FunctionType::get(i32, types, false), declared);
  IRBuilder<> builder(&function->getEntryBlock());
  Value *slots =
      builder.CreateAlloca(i64, ConstantInt::get(i64, std::max(1u, kernel.info->slot_count)));
  checkExtents(builder, kernel, function);
  pack(builder, kernel, function, slots);
  unsigned last = function->arg_size();
  builder.CreateRet(
      builder.CreateCall(entry, {slots, function->getArg(last - 2), function->getArg(last - 1)}));
}

void Writer::addPacked(const StaticKernel &kernel, unsigned number, Function *entry,
                       Constant *descriptor) {
  Function *function = definePacked(kernel.packed);
  IRBuilder<> builder(&function->getEntryBlock());
  Value *slots =
      builder.CreateAlloca(i64, ConstantInt::get(i64, std::max(1u, kernel.info->slot_count)));
  // Of each pool the address, and behind these where it begins and ends.
  Value *pools = builder.CreateAlloca(
      i64, ConstantInt::get(i64, std::max<size_t>(1, 3 * kernel.pools.size())));
  builder.CreateRet(builder.CreateCall(
      supportOfPacked("metate_support_call_packed",
                      {pointer, i32, pointer, pointer, pointer, pointer, i32, pointer},
                      {"const struct metate_descriptor *", "uint32_t", "metate_entry",
                       "union metate_slot *", "void **", "const struct metate_ffi_any *", "int32_t",
                       "struct metate_ffi_any *"}),
      {descriptor, ConstantInt::get(i32, number), entry, slots, pools, function->getArg(1),
       function->getArg(2), function->getArg(3)}));
}

/// A function by tvm-ffi's convention that gives a text.
void Writer::addText(const Twine &name, StringRef text) {
  Function *function = definePacked(name.str());
  IRBuilder<> builder(&function->getEntryBlock());
  Constant *bytes = ConstantDataArray::getString(context, text);
  auto *variable = new GlobalVariable(module, bytes->getType(), true, GlobalValue::InternalLinkage,
                                      bytes, "text");
  builder.CreateRet(
      builder.CreateCall(support("metate_support_give_text", i32, {pointer, i64, pointer}),
                         {variable, ConstantInt::get(i64, text.size()), function->getArg(3)}));
}

/// One of the calls of Support/Session.c, over this module.
void Writer::addSession(const StaticSession &session, GlobalVariable *own) {
  Function *function = definePacked(session.symbol);
  IRBuilder<> builder(&function->getEntryBlock());
  builder.CreateRet(builder.CreateCall(
      supportOfPacked(("metate_support_session_" + session.call).str(),
                      {pointer, pointer, i32, pointer},
                      {"const struct metate_static_module *", "const struct metate_ffi_any *",
                       "int32_t", "struct metate_ffi_any *"}),
      {own, function->getArg(1), function->getArg(2), function->getArg(3)}));
}

void Writer::run(ArrayRef<StringRef> names) {
  Constant *descriptor = addDescriptor();
  SmallVector<Function *> entries;
  for (StringRef name : names) {
    auto *entry = Function::Create(FunctionType::get(i32, {pointer, pointer, pointer}, false),
                                   GlobalValue::ExternalLinkage, name, module);
    entry->setVisibility(GlobalValue::HiddenVisibility);
    entry->setDSOLocal(true);
    entries.push_back(entry);
  }
  GlobalVariable *own = addModule(descriptor, entries);
  for (const StaticSession &session : description.sessions)
    addSession(session, own);
  for (const StaticType &type : description.types)
    addReset(type, descriptor);
  for (auto [number, kernel] : enumerate(description.kernels)) {
    addDirect(kernel, entries[number]);
    addPacked(kernel, unsigned(number), entries[number], descriptor);
    if (description.form == StaticForm::Object)
      continue;
    std::string name = description.text(kernel.info->name).str();
    addText(Twine(packedMetadataPrefix) + name, packedMetadata(description, kernel));
    if (StringRef text = description.documentation(kernel); !text.empty())
      addText(Twine(packedDocumentationPrefix) + name, text);
  }
}

/// Support code of a bare machine is compiled for this one: its CPU, and no tables of how to unwind.
static void makeOfMachine(Module &part, const TargetMachine &machine) {
  if (!architectureOf(machine.getTargetTriple())->isBare())
    return;
  if (NamedMDNode *flags = part.getModuleFlagsMetadata())
    flags->eraseFromParent();
  for (Function &function : part) {
    function.removeFnAttr("target-cpu");
    function.removeFnAttr("target-features");
  }
}

/// All of it in `module`, on top of the support code, which is `parts`. `machine`: null where C is printed of it.
static Error writeInto(Module &module, const StaticModule &description, ArrayRef<StringRef> entries,
                       ArrayRef<StringRef> parts, const TargetMachine *machine) {
  for (StringRef code : parts) {
    Expected<std::unique_ptr<Module>> part =
        parseBitcodeFile(MemoryBufferRef(code, "support"), module.getContext());
    if (!part)
      return part.takeError();
    (*part)->setDataLayout(module.getDataLayout());
    (*part)->setTargetTriple(module.getTargetTriple());
    if (machine)
      makeOfMachine(**part, *machine);
    if (Linker::linkModules(module, std::move(*part)))
      return llvm::createStringError("the support code of static carriers does not link");
  }
  Writer(description, module).run(entries);
  return Error::success();
}

/// What the entries call, as `Architectures.def` names it.
static SmallVector<StringRef> partsOf(const StaticModule &description, StringRef support) {
  const Support &own = *find_if(supports, [&](const Support &one) { return one.name == support; });
  SmallVector<StringRef> parts = {own.block(), own.packed()};
  if (!description.sessions.empty())
    parts.push_back(own.session());
  if (description.form == StaticForm::Library)
    parts.push_back(own.description());
  return parts;
}

Expected<std::string> metate::staticCode(const StaticModule &description,
                                         ArrayRef<StringRef> entries, TargetMachine &machine) {
  LLVMContext context;
  Module module(description.name, context);
  module.setDataLayout(machine.createDataLayout());
  module.setTargetTriple(machine.getTargetTriple());
  if (Error error = writeInto(
          module, description, entries,
          partsOf(description, architectureOf(module.getTargetTriple())->support), &machine))
    return std::move(error);
  return objectOf(module, machine);
}

std::string metate::staticSupport(const StaticModule &description) {
  if (description.kernels.empty())
    return "";
  SmallVector<StringRef> files = {"metate/Module/Support/Packed.c"},
                         roots = {"metate_support_call_packed"};
  if (!description.sessions.empty()) {
    files.push_back("metate/Module/Support/Session.c");
    roots.push_back("METATE_SUPPORT_SESSION");
  }
  return "#ifndef METATE_NO_PACKED\n" + supportSource(files, roots) + "#endif\n";
}

Expected<std::string> metate::staticBitcode(const StaticModule &description,
                                            ArrayRef<StringRef> entries, bool isBare) {
  StringRef block = isBare ? Block_c_bare() : Block_c();
  LLVMContext context;
  Module module(description.name, context);
  module.setDataLayout(sourceDataLayout);
  if (Error error = writeInto(module, description, entries, {block}, nullptr))
    return std::move(error);
  std::string bytes;
  raw_string_ostream stream(bytes);
  WriteBitcodeToFile(module, stream);
  return bytes;
}
