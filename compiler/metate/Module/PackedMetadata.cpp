//===- PackedMetadata.cpp - packed entries described to tvm-ffi -*- C++ -*-===//
//
// The JSON text that tvm-ffi has of a function: `type_schema`, types of arguments and result in tvm-ffi's own words, and beside
// it `metate`, the same in ours, with names and what the kernel does with each.
//
//===----------------------------------------------------------------------===//
#include "metate/Module/Static.h"

#include "metate/Mutants/Mutants.h"

#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

using namespace metate;
using llvm::json::Array;
using llvm::json::Object;

/// A scalar as tvm-ffi passes it.
static Object scalarSchema(uint32_t dtype) {
  if (dtype == METATE_U1)
    return Object{{"type", "bool"}};
  bool isFloat =
      dtype == METATE_F16 || dtype == METATE_BF16 || dtype == METATE_F32 || dtype == METATE_F64;
  return Object{{"type", isFloat ? "float" : "int"}};
}

static Object tensorSchema() { return Object{{"type", "ffi.Tensor"}}; }

/// A tree is its block: bytes, or their address.
static Object blockSchema() {
  return Object{{"type", "Union"},
                {"args", Array{tensorSchema(), Object{{"type", "ctypes.c_void_p"}}}}};
}

static Object schemaOf(const metate_argument_info &info) {
  if (info.kind == METATE_ARGUMENT_SCALAR)
    return scalarSchema(info.dtype);
  return info.kind == METATE_ARGUMENT_TREE ? blockSchema() : tensorSchema();
}

/// "f32", "vector(3, f32)", "ndarray(f32, 2)", a tree type's name.
static std::string typeText(const StaticModule &module, const metate_argument_info &info) {
  std::string dtype = staticDtype(info.dtype).str();
  switch (info.kind) {
  case METATE_ARGUMENT_TREE:
    return module.text(module.types[info.type].info->name).str();
  case METATE_ARGUMENT_NDARRAY:
    return info.rank ? "ndarray(" + dtype + ", " + std::to_string(info.rank) + ")" : dtype;
  case METATE_ARGUMENT_VECTOR:
    if (info.element_rank == 2)
      return "matrix(" + std::to_string(info.rows) + ", " + std::to_string(info.columns) + ", " +
             dtype + ")";
    return "vector(" + std::to_string(info.rows) + ", " + dtype + ")";
  default:
    return dtype;
  }
}

static Object described(const StaticModule &module, const metate_argument_info &info) {
  Object object{{"name", module.text(info.name)}, {"type", typeText(module, info)}};
  if (info.kind != METATE_ARGUMENT_TREE && info.kind != METATE_ARGUMENT_NDARRAY)
    return object;
  Array access;
  for (auto [bit, name] : {std::pair<uint32_t, const char *>{METATE_ACCESS_READ, "read"},
                           {METATE_ACCESS_WRITE, "write"},
                           {METATE_ACCESS_ACTIVATE, "activate"}})
    if (info.access & bit)
      access.push_back(name);
  object["access"] = std::move(access);
  return object;
}

std::string metate::packedMetadata(const StaticModule &module, const StaticKernel &kernel) {
  // As Support/Packed.c takes arguments and gives a result.
  bool returns = kernel.returnsScalar() && !isMutant(Mutant::PackedResultIsArgument);
  Array types, arguments;
  for (const metate_argument_info &info : kernel.arguments.drop_back(returns)) {
    types.push_back(schemaOf(info));
    arguments.push_back(described(module, info));
  }
  Array pools;
  for (const metate_pool_info &pool : kernel.pools) {
    types.push_back(tensorSchema());
    pools.push_back(Object{{"name", module.text(pool.name)}, {"type", "ndarray(u8, 1)"}});
  }
  Object result = returns ? scalarSchema(kernel.arguments.back().dtype) : Object{{"type", "None"}};
  Object own{{"module", module.name}, {"arguments", std::move(arguments)}};
  if (!pools.empty())
    own["pools"] = std::move(pools);
  if (returns)
    own["result"] = staticDtype(kernel.arguments.back().dtype);
  Object schema{
      {"type", "ffi.Function"},
      {"named_args", Object{{"return", Array{std::move(result)}}, {"params", std::move(types)}}}};
  std::string text, whole;
  llvm::raw_string_ostream(text) << llvm::json::Value(std::move(schema));
  llvm::raw_string_ostream(whole) << llvm::json::Value(
      Object{{"type_schema", text}, {"metate", std::move(own)}});
  return whole;
}
