//===- Static.cpp - names and parameters of a static carrier ----*- C++ -*-===//
#include "metate/Module/Static.h"

#include "metate/Module/CNames.h"
#include "metate/Module/Support/Support.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"

using namespace metate;
using llvm::Error;
using llvm::Expected;
using llvm::StringRef;

static bool isIdentifier(StringRef name) {
  return !name.empty() && !llvm::isDigit(name[0]) &&
         llvm::all_of(name, [](char c) { return llvm::isAlnum(c) || c == '_'; });
}

/// A parameter's name: what C does not allow becomes an underscore ("s.a" -> "s_a").
static std::string parameterName(StringRef name) {
  std::string text;
  for (char c : name)
    text += llvm::isAlnum(c) ? c : '_';
  if (text.empty() || llvm::isDigit(text[0]))
    text = "p" + text;
  // Leading underscores, and the names that every direct entry has.
  if (text[0] == '_')
    text = "p" + text;
  if (isWordOfC(text) || text == "pools" || text == "host")
    text += "_";
  return text;
}

StringRef metate::staticScalar(uint32_t dtype) {
  static const char *const names[] = {"void",
#define METATE_DTYPE(NAME, code, name, bits, KIND, type) #type,
                                      METATE_DTYPES(METATE_DTYPE)
#undef METATE_DTYPE
  };
  return names[dtype <= METATE_DTYPE_LAST ? dtype : 0];
}

bool StaticKernel::returnsScalar() const {
  auto isResult = [](const metate_argument_info &info) {
    return info.flags & METATE_ARGUMENT_RESULT;
  };
  return llvm::count_if(arguments, isResult) == 1 && isResult(arguments.back()) &&
         arguments.back().rank == 0;
}

StringRef StaticModule::documentation(const StaticKernel &kernel) const {
  if (kernel.info->source == METATE_NONE)
    return "";
  return text(table<metate_text>(header().texts)[kernel.info->source].text);
}

Error StaticModule::claim(const std::string &symbol, const std::string &of) {
  if (isNameOfC(symbol))
    return llvm::createStringError(
        of + ": in C '" + symbol +
        "' is a name of the language, of its libraries or of Metate: give it another name, or the "
        "module (its file's name, or name= of the module)");
  if (!symbols.insert(symbol).second)
    return llvm::createStringError(of + ": the C name '" + symbol +
                                   "' stands for something else already: give it another name");
  return Error::success();
}

Error StaticModule::claim(const std::string &prefix, llvm::ArrayRef<StringRef> ends,
                          const std::string &of) {
  for (StringRef end : ends)
    if (Error error = claim((prefix + end).str(), of))
      return error;
  return Error::success();
}

/// "heat.py:12: kernel 'step'": errors begin with it.
std::string StaticModule::shown(const metate_kernel_info &kernel) const {
  std::string own = ("kernel '" + text(kernel.name) + "'").str();
  if (kernel.source == METATE_NONE)
    return own;
  const metate_text &place = table<metate_text>(header().texts)[kernel.source];
  return (text(place.file) + ":" + llvm::Twine(place.line) + ": ").str() + own;
}

Error StaticModule::addTypes(uint32_t workers) {
  for (const metate_type_info &info : table<metate_type_info>(header().types)) {
    StaticType type;
    std::string of = "type '" + text(info.name).str() + "'";
    if (!isIdentifier(text(info.name)))
      return llvm::createStringError(of + ": expected a name of ASCII letters, digits and "
                                          "underscores, as C has them");
    type.symbol = name + "_" + text(info.name).str();
    type.info = &info;
    type.blob = reinterpret_cast<const metate_tree_type *>(descriptor.data() + info.offset);
    type.bytes = metate_support_block_bytes(type.blob, workers);
    if (Error error = claim(type.symbol, {"_reset", "_BYTES", "_ALIGN"}, of))
      return error;
    const auto *levels = reinterpret_cast<const metate_level *>(type.blob + 1);
    for (const metate_level &level : llvm::ArrayRef(levels, type.blob->level_count)) {
      StringRef member = reinterpret_cast<const char *>(type.blob) + level.name;
      if (level.kind == METATE_LEVEL_PLACE)
        if (Error error = claim(type.symbol + "_" + member.str(), {"_at", "_get", "_set"}, of))
          return error;
    }
    types.push_back(std::move(type));
  }
  return Error::success();
}

Error StaticModule::addParameters(StaticKernel &kernel) {
  llvm::StringSet<> taken;
  auto add = [&](std::string wanted, unsigned argument, StaticParameter::Kind kind, unsigned along,
                 int64_t required) {
    while (!taken.insert(wanted).second)
      wanted += "_";
    kernel.parameters.push_back({wanted, "int64_t ", "", argument, kind, along, required});
  };
  // Arguments first, so that they keep their names; extents stand behind their own.
  std::vector<std::string> names;
  for (const metate_argument_info &info : kernel.arguments) {
    // "return" of one result, "return.a" of several: no parameter is called so.
    std::string wanted = text(info.name).str();
    if (info.flags & METATE_ARGUMENT_RESULT)
      wanted = StringRef(wanted).starts_with("return") ? "result" + wanted.substr(6) : "result";
    wanted = parameterName(wanted);
    while (!taken.insert(wanted).second)
      wanted += "_";
    names.push_back(wanted);
  }
  taken.clear();
  for (const std::string &reserved : names)
    taken.insert(reserved);
  for (auto [number, info] : llvm::enumerate(kernel.arguments)) {
    bool writes = info.access & METATE_ACCESS_WRITE;
    std::string scalar = staticScalar(info.dtype).str();
    StaticParameter own{names[number], "", "", unsigned(number)};
    switch (info.kind) {
    case METATE_ARGUMENT_TREE:
      own.type = "void *";
      break;
    case METATE_ARGUMENT_NDARRAY:
      own.type = (writes ? "" : "const ") + scalar + " *";
      break;
    case METATE_ARGUMENT_VECTOR:
      own.type = "const " + scalar + " ";
      own.suffix = "[" + std::to_string(info.rows * info.columns) + "]";
      break;
    default:
      own.type = scalar + " ";
    }
    kernel.parameters.push_back(own);
    if (info.kind != METATE_ARGUMENT_NDARRAY)
      continue;
    bool member = text(info.name).contains('.') && !(info.flags & METATE_ARGUMENT_RESULT);
    for (uint32_t k = 0; k < info.rank; ++k) {
      if (info.fixed[k] == -1)
        add(names[number] + "_shape" + std::to_string(k), number, StaticParameter::Extent, k, -1);
      if (info.fixed[k] >= -1)
        continue;
      // One parameter for all extents that are the dim, where it stands first.
      const metate_dim_info &dim = kernel.dims[METATE_EXTENT_OF_DIM(info.fixed[k])];
      if (dim.slot == info.first_slot + 1 + k)
        add(parameterName(text(dim.name)), number, StaticParameter::Extent, k, info.fixed[k]);
    }
    // Members of an array of structs lie among one another.
    for (uint32_t k = 0; member && k < info.rank; ++k)
      if (info.fixed[k] < 0)
        add(names[number] + "_stride" + std::to_string(k), number, StaticParameter::Stride, k, -1);
  }
  return Error::success();
}

Error StaticModule::addKernels() {
  llvm::ArrayRef<metate_argument_info> arguments = table<metate_argument_info>(header().arguments);
  llvm::ArrayRef<metate_pool_info> pools = table<metate_pool_info>(header().pools);
  llvm::ArrayRef<metate_dim_info> dims = table<metate_dim_info>(header().dims);
  for (const metate_kernel_info &info : table<metate_kernel_info>(header().kernels)) {
    if (info.flags & METATE_KERNEL_SLICE)
      break; // they stand last, and libmetate alone calls them
    std::string own = text(info.name).str(), of = shown(info);
    if (!isIdentifier(own))
      return llvm::createStringError(of + ": expected a name of ASCII letters, digits and "
                                          "underscores, as C has them: pass name= to add_kernel");
    StaticKernel kernel{&info,
                        arguments.slice(info.first_argument, info.argument_count),
                        pools.slice(info.first_pool, info.pool_count),
                        dims.drop_front(info.first_dim).take_while([&](const metate_dim_info &dim) {
                          return dim.kernel == kernels.size();
                        }),
                        name + "_" + own,
                        "__tvm_ffi_" + (form == StaticForm::Library ? own : name + "_" + own),
                        {},
                        {}};
    llvm::SmallVector<std::string> symbolsOfIt = {kernel.direct, kernel.packed};
    if (form == StaticForm::Library)
      symbolsOfIt.append({packedMetadataPrefix.str() + own, packedDocumentationPrefix.str() + own});
    for (const std::string &symbol : symbolsOfIt)
      if (Error error = claim(symbol, of))
        return error;
    if (Error error = claimMacros(kernel, of))
      return error;
    if (Error error = addParameters(kernel))
      return error;
    kernels.push_back(std::move(kernel));
  }
  for (const auto &one : table<metate_derivative_info>(header().derivatives))
    kernels[one.kernel].primals.push_back(
        ("'" + text(kernels[one.primal].info->name) + "' in " +
         (one.mode == METATE_DERIVATIVE_REVERSE ? "reverse" : "forward"))
            .str());
  return Error::success();
}

Error StaticModule::claimMacros(const StaticKernel &kernel, const std::string &of) {
  if (kernel.pools.empty() && kernel.dims.empty())
    return Error::success();
  if (Error error = claim(kernel.direct, {"_POOLS"}, of))
    return error;
  for (const metate_dim_info &dim : kernel.dims)
    if (Error error =
            claim(kernel.direct + "_" + text(dim.name).str(), {"_MIN", "_MAX", "_MULTIPLE"}, of))
      return error;
  for (const metate_pool_info &pool : kernel.pools)
    if (Error error = claim(kernel.direct + "_" + text(pool.name).str(),
                            {"_BYTES", "_ALIGN", "_MEMORY", "_BYTES_MAX"}, of))
      return error;
  return Error::success();
}

Error StaticModule::addSessions() {
  static constexpr StringRef calls[] = {"bytes", "open", "set_input", "run", "get_output", "close"};
  std::string prefix = "__tvm_ffi_" + (form == StaticForm::Library ? "" : name + "_") + "session_";
  for (StringRef call :
       header().kernels.count ? llvm::ArrayRef(calls) : llvm::ArrayRef<StringRef>()) {
    sessions.push_back({call, prefix + call.str()});
    if (Error error = claim(sessions.back().symbol, "sessions"))
      return error;
  }
  return Error::success();
}

StringRef StaticModule::memoryOf(const metate_pool_info &pool) const {
  llvm::ArrayRef<metate_pool_info> pools = table<metate_pool_info>(header().pools);
  for (const metate_place_info &place : table<metate_place_info>(header().places))
    if (&pools[place.pool] == &pool)
      return text(place.memory);
  return "";
}

Expected<StaticModule> StaticModule::get(StringRef descriptor, StaticForm form, uint32_t workers) {
  StaticModule module;
  module.form = form;
  module.descriptor = descriptor;
  module.name = module.text(module.header().name).str();
  if (!isIdentifier(module.name) || module.name[0] == '_')
    return llvm::createStringError(
        "module '" + module.name +
        "': its name begins the name of every C function, so it must be made of ASCII letters, "
        "digits and underscores: name the file so, or pass name= to the module");
  if (Error error = module.claim(module.moduleSymbol(), "module '" + module.name + "'"))
    return std::move(error);
  // What tvm-ffi reads of a library for purposes of its own.
  if (form == StaticForm::Library)
    for (const char *symbol : {"__tvm_ffi__library_ctx", "__tvm_ffi__library_bin"})
      module.symbols.insert(symbol);
  if (Error error = module.addTypes(workers))
    return std::move(error);
  if (Error error = module.addSessions())
    return std::move(error);
  if (Error error = module.addKernels())
    return std::move(error);
  return module;
}
