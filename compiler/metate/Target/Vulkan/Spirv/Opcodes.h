//===- Opcodes.h - the words of SPIR-V that are used ------------*- C++ -*-===//
//
// Numbers of the SPIR-V specification (1.6, unified) and of GLSL.std.450.
//
//===----------------------------------------------------------------------===//
#ifndef METATE_TARGET_VULKAN_SPIRV_OPCODES_H
#define METATE_TARGET_VULKAN_SPIRV_OPCODES_H

#include <cstdint>

namespace metate::spirv {

constexpr uint32_t magic = 0x07230203, version = 0x00010500; ///< Vulkan 1.2

enum class Op : uint32_t {
  Extension = 10,
  ExtInstImport = 11,
  ExtInst = 12,
  MemoryModel = 14,
  EntryPoint = 15,
  ExecutionMode = 16,
  Capability = 17,
  TypeVoid = 19,
  TypeBool = 20,
  TypeInt = 21,
  TypeFloat = 22,
  TypeVector = 23,
  TypeArray = 28,
  TypeStruct = 30,
  TypePointer = 32,
  TypeFunction = 33,
  ConstantTrue = 41,
  ConstantFalse = 42,
  Constant = 43,
  Function = 54,
  FunctionEnd = 56,
  Variable = 59,
  Load = 61,
  Store = 62,
  AccessChain = 65,
  Decorate = 71,
  MemberDecorate = 72,
  CompositeExtract = 81,
  CopyObject = 83,
  ConvertFToU = 109,
  ConvertFToS = 110,
  ConvertSToF = 111,
  ConvertUToF = 112,
  UConvert = 113,
  SConvert = 114,
  FConvert = 115,
  ConvertUToPtr = 120,
  Bitcast = 124,
  FNegate = 127,
  IAdd = 128,
  FAdd = 129,
  ISub = 130,
  FSub = 131,
  IMul = 132,
  FMul = 133,
  UDiv = 134,
  SDiv = 135,
  FDiv = 136,
  UMod = 137,
  IsNan = 156,
  LogicalEqual = 164,
  LogicalNotEqual = 165,
  LogicalOr = 166,
  LogicalAnd = 167,
  LogicalNot = 168,
  Select = 169,
  IEqual = 170,
  INotEqual = 171,
  UGreaterThan = 172,
  SGreaterThan = 173,
  UGreaterThanEqual = 174,
  SGreaterThanEqual = 175,
  ULessThan = 176,
  SLessThan = 177,
  ULessThanEqual = 178,
  SLessThanEqual = 179,
  FOrdEqual = 180,
  FUnordEqual = 181,
  FOrdNotEqual = 182,
  FUnordNotEqual = 183,
  FOrdLessThan = 184,
  FUnordLessThan = 185,
  FOrdGreaterThan = 186,
  FUnordGreaterThan = 187,
  FOrdLessThanEqual = 188,
  FUnordLessThanEqual = 189,
  FOrdGreaterThanEqual = 190,
  FUnordGreaterThanEqual = 191,
  ShiftRightLogical = 194,
  ShiftRightArithmetic = 195,
  ShiftLeftLogical = 196,
  BitwiseOr = 197,
  BitwiseXor = 198,
  BitwiseAnd = 199,
  BitReverse = 204,
  BitCount = 205,
  MemoryBarrier = 225,
  AtomicLoad = 227,
  AtomicStore = 228,
  AtomicExchange = 229,
  AtomicCompareExchange = 230,
  AtomicIAdd = 234,
  AtomicISub = 235,
  AtomicSMin = 236,
  AtomicUMin = 237,
  AtomicSMax = 238,
  AtomicUMax = 239,
  AtomicAnd = 240,
  AtomicOr = 241,
  AtomicXor = 242,
  Phi = 245,
  LoopMerge = 246,
  SelectionMerge = 247,
  Label = 248,
  Branch = 249,
  BranchConditional = 250,
  Return = 253,
  AtomicFAdd = 6035
};

enum class Glsl : uint32_t {
  RoundEven = 2,
  Trunc = 3,
  FAbs = 4,
  Floor = 8,
  Ceil = 9,
  Sqrt = 31,
  UMin = 38,
  Fma = 50,
  FindILsb = 73,
  FindUMsb = 75
};

enum class Capability : uint32_t {
  Shader = 1,
  Float16 = 9,
  Float64 = 10,
  Int64 = 11,
  Int64Atomics = 12,
  Int16 = 22,
  Int8 = 39,
  StorageBuffer16BitAccess = 4433,
  StorageBuffer8BitAccess = 4448,
  SignedZeroInfNanPreserve = 4466,
  VulkanMemoryModel = 5345,
  VulkanMemoryModelDeviceScope = 5346,
  PhysicalStorageBufferAddresses = 5347,
  AtomicFloat32Add = 6033
};

enum class Storage : uint32_t { Input = 1, Function = 7, PushConstant = 9, Physical = 5349 };

enum : uint32_t {
  decorationBlock = 2,
  decorationBuiltIn = 11,
  decorationOffset = 35,
  decorationNoContraction = 42,
  builtInNumWorkgroups = 24,
  builtInGlobalInvocationId = 28,
  addressingPhysical64 = 5348,
  memoryModelVulkan = 3,
  modelGLCompute = 5,
  modeLocalSize = 17,
  modeSignedZeroInfNanPreserve = 4461,
  scopeDevice = 1,
  accessVolatile = 1,
  accessAligned = 2,
  accessNonPrivate = 0x20,
  semanticsAcquire = 0x2,
  semanticsRelease = 0x4,
  semanticsAcquireRelease = 0x8,
  semanticsUniformMemory = 0x40, ///< which physical memory is
  semanticsMakeAvailable = 0x2000,
  semanticsMakeVisible = 0x4000
};

} // namespace metate::spirv

#endif
