//===- PrepareConstants.cpp - constant globals as bytes ---------*- C++ -*-===//
#include "metate/Target/Vulkan/Spirv/Prepare.h"

#include "llvm/IR/Constants.h"
#include "llvm/IR/ReplaceConstant.h"

using namespace llvm;
using namespace metate;

/// Each begins at a multiple of these.
static constexpr uint64_t constantAlign = 16;

namespace {
/// Writes one constant's bytes.
class ConstantWriter {
public:
  ConstantWriter(const GlobalVariable &global, std::vector<uint8_t> &bytes)
      : global(global), layout(global.getDataLayout()), bytes(bytes) {}
  Error write(const Constant *constant, uint64_t at);

private:
  void number(const APInt &value, uint64_t at);

  const GlobalVariable &global;
  const DataLayout &layout;
  std::vector<uint8_t> &bytes;
};
} // namespace

void ConstantWriter::number(const APInt &value, uint64_t at) {
  for (unsigned k = 0, count = divideCeil(value.getBitWidth(), 8); k < count; ++k) {
    unsigned bits = std::min(8u, value.getBitWidth() - 8 * k);
    bytes[at + k] = uint8_t(value.extractBitsAsZExtValue(bits, 8 * k));
  }
}

Error ConstantWriter::write(const Constant *constant, uint64_t at) {
  Type *type = constant->getType();
  if (constant->isNullValue() || isa<UndefValue>(constant))
    return Error::success(); // zeros are there
  if (auto *integer = dyn_cast<ConstantInt>(constant)) {
    number(integer->getValue(), at);
    return Error::success();
  }
  if (auto *real = dyn_cast<ConstantFP>(constant)) {
    number(real->getValueAPF().bitcastToAPInt(), at);
    return Error::success();
  }
  uint64_t count = 0;
  if (auto *array = dyn_cast<ArrayType>(type))
    count = array->getNumElements();
  else if (auto *vector = dyn_cast<FixedVectorType>(type))
    count = vector->getNumElements();
  else if (auto *record = dyn_cast<StructType>(type))
    count = record->getNumElements();
  for (uint64_t k = 0; k < count; ++k) {
    const Constant *element = constant->getAggregateElement(unsigned(k));
    if (!element)
      break;
    uint64_t offset = k * layout.getTypeAllocSize(element->getType());
    if (auto *record = dyn_cast<StructType>(type))
      offset = layout.getStructLayout(record)->getElementOffset(unsigned(k));
    if (Error error = write(element, at + offset))
      return error;
  }
  if (count)
    return Error::success();
  return createStringError("@" + global.getName() + ": a constant that is no number");
}

Error spirv::collectConstants(Module &module, Constants &constants) {
  SmallVector<Constant *> used;
  for (GlobalVariable &global : module.globals())
    used.push_back(&global);
  convertUsersOfConstantsToInstructions(used);
  for (GlobalVariable &global : module.globals()) {
    global.removeDeadConstantUsers();
    if (none_of(global.users(), [](const User *user) { return isa<Instruction>(user); }))
      continue;
    if (!global.hasInitializer() || !global.isConstant())
      return createStringError("@" + global.getName() + ": a device has no variables of its own");
    uint64_t at = alignTo(constants.bytes.size(),
                          std::max(global.getAlign().valueOrOne().value(), constantAlign));
    uint64_t size = module.getDataLayout().getTypeAllocSize(global.getValueType());
    constants.bytes.resize(at + alignTo(size, constantAlign));
    constants.offsets[&global] = at;
    if (Error error = ConstantWriter(global, constants.bytes).write(global.getInitializer(), at))
      return error;
  }
  return Error::success();
}
