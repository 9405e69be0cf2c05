//===- ModuleWriter.cpp - the parts of a SPIR-V module ----------*- C++ -*-===//
#include "metate/Target/Vulkan/Spirv/ModuleWriter.h"

#include "metate/Mutants/Mutants.h"
#include "metate/abi/grid.h"

#include "llvm/IR/DerivedTypes.h"
#include "llvm/IR/GlobalVariable.h"

using namespace llvm;
using namespace metate;
using namespace metate::spirv;

void spirv::put(Words &to, Op op, ArrayRef<uint32_t> operands) {
  to.push_back(uint32_t(operands.size() + 1) << 16 | uint32_t(op));
  to.insert(to.end(), operands.begin(), operands.end());
}

/// Zero-terminated, in as many words as it needs.
static Words textWords(StringRef text) {
  Words words(text.size() / 4 + 1, 0);
  for (size_t k = 0; k < text.size(); ++k)
    words[k / 4] |= uint32_t(uint8_t(text[k])) << (k % 4 * 8);
  return words;
}

uint32_t ModuleWriter::one(Op op, Words operands, unsigned resultAt) {
  Words key = {uint32_t(op)};
  key.insert(key.end(), operands.begin(), operands.end());
  uint32_t &id = known[key];
  if (!id) {
    id = newId();
    operands.insert(operands.begin() + resultAt, id);
    put(globals, op, operands);
  }
  return id;
}

uint32_t ModuleWriter::intType(unsigned width) {
  if (width == 8) {
    need(Capability::Int8);
    need(Capability::StorageBuffer8BitAccess);
  } else if (width == 16) {
    need(Capability::Int16);
    need(Capability::StorageBuffer16BitAccess);
  } else if (width == 64) {
    need(Capability::Int64);
  }
  return one(Op::TypeInt, {width, 0}, 0);
}

uint32_t ModuleWriter::floatType(unsigned width) {
  if (width == 16) {
    need(Capability::Float16);
    need(Capability::StorageBuffer16BitAccess);
  } else if (width == 64) {
    need(Capability::Float64);
  }
  return one(Op::TypeFloat, {width}, 0);
}

uint32_t ModuleWriter::pointerType(Storage storage, uint32_t to) {
  return one(Op::TypePointer, {uint32_t(storage), to}, 0);
}

uint32_t ModuleWriter::typeOf(Type *type) {
  if (type->isVoidTy())
    return voidType();
  if (type->isHalfTy() || type->isFloatTy() || type->isDoubleTy())
    return floatType(type->getPrimitiveSizeInBits());
  if (auto *array = dyn_cast<ArrayType>(type)) {
    uint32_t element = typeOf(array->getElementType());
    return element ? one(Op::TypeArray, {element, integer(32, array->getNumElements())}, 0) : 0;
  }
  if (!type->isIntegerTy())
    return 0;
  switch (unsigned width = type->getIntegerBitWidth()) {
  case 1:
    return boolType();
  case 8:
  case 16:
  case 32:
  case 64:
    return intType(width);
  default:
    return 0;
  }
}

uint32_t ModuleWriter::integer(unsigned width, uint64_t value) {
  if (width == 1)
    return one(value ? Op::ConstantTrue : Op::ConstantFalse, {boolType()}, 1);
  uint32_t type = intType(width);
  if (width == 64)
    return one(Op::Constant, {type, uint32_t(value), uint32_t(value >> 32)}, 1);
  return one(Op::Constant, {type, uint32_t(value & maskTrailingOnes<uint64_t>(width))}, 1);
}

uint32_t ModuleWriter::constantOf(const Constant *constant) {
  Type *type = constant->getType();
  uint32_t id = typeOf(type);
  bool isNumber = type->isIntegerTy() || type->isFloatingPointTy();
  if (!id || !isNumber)
    return 0;
  uint64_t bits = 0;
  if (auto *integer = dyn_cast<ConstantInt>(constant))
    bits = integer->getZExtValue();
  else if (auto *number = dyn_cast<ConstantFP>(constant))
    bits = number->getValueAPF().bitcastToAPInt().getZExtValue();
  else if (!isa<UndefValue>(constant))
    return 0;
  if (type->isIntegerTy())
    return integer(type->getIntegerBitWidth(), bits);
  return type->isDoubleTy() ? one(Op::Constant, {id, uint32_t(bits), uint32_t(bits >> 32)}, 1)
                            : one(Op::Constant, {id, uint32_t(bits)}, 1);
}

uint32_t ModuleWriter::glsl() {
  if (!glslSet)
    glslSet = newId();
  return glslSet;
}

void ModuleWriter::needFloatAdd() {
  need(Capability::AtomicFloat32Add);
  extensions.insert("SPV_EXT_shader_atomic_float_add");
}

uint32_t ModuleWriter::variable(uint32_t type, Storage storage) {
  uint32_t id = newId();
  put(globals, Op::Variable, {pointerType(storage, type), id, uint32_t(storage)});
  variables.push_back(id);
  return id;
}

uint32_t ModuleWriter::builtIn(uint32_t which, uint32_t type) {
  uint32_t &id = builtIns[which];
  if (!id) {
    id = variable(type, Storage::Input);
    put(decorations, Op::Decorate, {id, decorationBuiltIn, which});
  }
  return id;
}

uint32_t ModuleWriter::pushConstants() {
  if (!addresses) {
    uint32_t address = intType(64), record = one(Op::TypeStruct, {address, address, address}, 0);
    put(decorations, Op::Decorate, {record, decorationBlock});
    for (uint32_t k = 0; k < 3; ++k)
      put(decorations, Op::MemberDecorate, {record, k, decorationOffset, 8 * k});
    addresses = variable(record, Storage::PushConstant);
  }
  return addresses;
}

uint32_t ModuleWriter::shared(const GlobalVariable *array) {
  uint32_t &id = arrays[array];
  if (!id)
    id = variable(typeOf(array->getValueType()), Storage::Workgroup);
  return id;
}

void ModuleWriter::entry(uint32_t function, StringRef name, uint32_t group) {
  entries.push_back({function, name.str()});
  put(modes, Op::ExecutionMode, {function, modeLocalSize, group, 1, 1});
}

uint32_t ModuleWriter::needs() const {
  static constexpr std::pair<Capability, uint32_t> flags[] = {
      {Capability::Float64, METATE_FEATURE_F64},
      {Capability::Float16, METATE_FEATURE_F16},
      {Capability::Int16, METATE_FEATURE_I16},
      {Capability::Int8, METATE_FEATURE_I8},
      {Capability::Int64Atomics, METATE_FEATURE_I64_ATOMICS},
      {Capability::AtomicFloat32Add, METATE_FEATURE_F32_ATOMIC_ADD}};
  uint32_t needs = 0;
  for (auto [capability, flag] : flags)
    if (capabilities.count(capability))
      needs |= flag;
  return needs;
}

void ModuleWriter::keepNumbers() {
  SmallVector<uint32_t> widths;
  for (uint32_t width : {16, 32, 64})
    if (known.count({uint32_t(Op::TypeFloat), width}))
      widths.push_back(width);
  if (widths.empty() || isMutant(Mutant::SpirvModesForgotten))
    return;
  need(Capability::DenormPreserve);
  need(Capability::SignedZeroInfNanPreserve);
  need(Capability::RoundingModeRTE);
  for (const Entry &entry : entries)
    for (uint32_t width : widths)
      for (uint32_t mode : {modeDenormPreserve, modeSignedZeroInfNanPreserve, modeRoundingModeRTE})
        put(modes, Op::ExecutionMode, {entry.function, mode, width});
}

SpirvModule ModuleWriter::finish() {
  keepNumbers();
  SpirvModule module;
  Words &words = module.words;
  words = {magic, version, 0, 0, 0};
  for (Capability capability : capabilities)
    put(words, Op::Capability, {uint32_t(capability)});
  for (const std::string &extension : extensions)
    put(words, Op::Extension, textWords(extension));
  if (glslSet) {
    Words import = {glslSet};
    append_range(import, textWords("GLSL.std.450"));
    put(words, Op::ExtInstImport, import);
  }
  put(words, Op::MemoryModel, {addressingPhysical64, memoryModelVulkan});
  for (const Entry &entry : entries) {
    Words point = {modelGLCompute, entry.function};
    append_range(point, textWords(entry.name));
    append_range(point, variables);
    put(words, Op::EntryPoint, point);
  }
  for (const Words *part : {&modes, &decorations, &globals, &code})
    append_range(words, *part);
  words[3] = next;
  module.needs = needs();
  return module;
}
