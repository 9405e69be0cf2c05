//===- StaticHeader.cpp - the C header of a static carrier ------*- C++ -*-===//
//
// C99 to C++20, of fixed-width types alone. Every function says what each parameter is, and where
// in the Python source its kernel stands.
//
//===----------------------------------------------------------------------===//
#include "metate/Module/Static.h"

#include "metate/Emit/Externals.h"
#include "metate/Mutants/Mutants.h"
#include "metate/abi/kernel.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/raw_ostream.h"

using namespace metate;
using llvm::StringRef;

/// Text of users inside of a comment.
static std::string comment(StringRef text) {
  std::string safe;
  for (char c : text) {
    if (c == '/' && !safe.empty() && (safe.back() == '*' || safe.back() == '/'))
      safe += ' ';
    if (c == '*' && !safe.empty() && safe.back() == '/')
      safe += ' ';
    safe += c == '\n' || c == '\\' ? ' ' : c;
  }
  return safe;
}

StringRef metate::staticDtype(uint32_t dtype) {
  static const char *const names[] = {"?",
#define METATE_DTYPE(NAME, code, name, bits, KIND, type) #name,
                                      METATE_DTYPES(METATE_DTYPE)
#undef METATE_DTYPE
  };
  return names[dtype <= METATE_DTYPE_LAST ? dtype : 0];
}

StringRef metate::staticDtypeNote(uint32_t dtype) {
  if (dtype == METATE_U1)
    return ", each a byte of 0 or 1";
  if (dtype == METATE_F16 || dtype == METATE_BF16)
    return ", as their 16 bits";
  return "";
}

/// "f32 array [x_shape0, 3], row-major without gaps"
static void describeArray(llvm::raw_ostream &out, const StaticKernel &kernel,
                          const StaticParameter &parameter) {
  const metate_argument_info &info = kernel.arguments[parameter.argument];
  if (info.rank == 0) {
    out << "one " << staticDtype(info.dtype) << staticDtypeNote(info.dtype);
    return;
  }
  std::vector<std::string> shape, strides;
  for (uint32_t k = 0; k < info.rank; ++k)
    shape.push_back(std::to_string(info.fixed[k]));
  for (const StaticParameter &other : kernel.parameters) {
    for (uint32_t k = 0; k < info.rank; ++k)
      if (other.isExtentOf(parameter.argument, k, info.fixed[k]))
        shape[k] = other.name;
    if (other.argument == parameter.argument && other.kind == StaticParameter::Stride)
      strides.push_back(other.name);
  }
  out << staticDtype(info.dtype) << " array [" << llvm::join(shape, ", ") << "]";
  if (strides.empty())
    out << ", row-major without gaps";
  else
    out << ", from one to the next " << llvm::join(strides, ", ") << " elements of "
        << staticDtype(info.dtype);
  out << staticDtypeNote(info.dtype);
}

static std::string describe(const StaticModule &module, const StaticKernel &kernel,
                            const StaticParameter &parameter, llvm::ArrayRef<StaticType> types) {
  const metate_argument_info &info = kernel.arguments[parameter.argument];
  std::string text;
  llvm::raw_string_ostream out(text);
  out << parameter.name << ": ";
  if (info.kind == METATE_ARGUMENT_TREE) {
    const StaticType &type = types[info.type];
    out << "block of a tree '" << module.text(type.info->name) << "' (" << type.symbol
        << "_BYTES bytes)";
  } else if (info.kind == METATE_ARGUMENT_SCALAR) {
    out << staticDtype(info.dtype);
    if (info.dtype == METATE_U1)
      out << ", 0 or 1";
    else
      out << (staticDtypeNote(info.dtype).empty() ? "" : ", as its 16 bits");
  } else if (info.kind == METATE_ARGUMENT_VECTOR) {
    out << staticDtype(info.dtype) << (info.element_rank == 2 ? " matrix of " : " vector of ")
        << info.rows;
    if (info.element_rank == 2)
      out << " x " << info.columns << ", row after row";
    else
      out << " elements";
    out << staticDtypeNote(info.dtype);
  } else {
    describeArray(out, kernel, parameter);
  }
  if (info.kind == METATE_ARGUMENT_TREE || info.kind == METATE_ARGUMENT_NDARRAY) {
    bool reads = info.access & METATE_ACCESS_READ, writes = info.access & METATE_ACCESS_WRITE;
    StringRef name = module.text(info.name);
    if (info.flags & METATE_ARGUMENT_RESULT && name.consume_front("local."))
      out << "; memory for the kernel's variable '" << name << "', which its loops accumulate in";
    else
      out << (info.flags & METATE_ARGUMENT_RESULT ? "; the result"
              : reads && writes                   ? "; read and written"
              : writes                            ? "; written"
              : reads                             ? "; read"
                                                  : "; not accessed");
    if (info.access & METATE_ACCESS_ACTIVATE)
      out << ", cells are activated";
    if (info.access & METATE_ACCESS_BEFORE)
      out << "; what it held before the primal ran";
  }
  return text;
}

/// " *   of the C library: memcpy, memset", in lines of at most 100 columns.
static void writeNeeds(llvm::raw_ostream &out, StringRef library, std::vector<StringRef> names) {
  if (names.empty())
    return;
  std::string line = (" *   of " + library + ":").str();
  for (StringRef name : names) {
    if (line.size() + 2 + name.size() > 100) {
      out << line << "\n";
      line = " *    ";
    }
    line += (" " + name + (name == names.back() ? "" : ",")).str();
  }
  out << line << "\n";
}

static void writeNeeds(llvm::raw_ostream &out, StaticForm form, llvm::ArrayRef<std::string> needs,
                       bool isBare) {
  std::vector<StringRef> libc, libm, compilers;
  for (StringRef name : needs) {
    const External *external = findExternal(name);
    (!external                                          ? compilers
     : StringRef(external->library).starts_with("libm") ? libm
                                                        : libc)
        .push_back(name);
  }
  if (!isBare) {
    out << (form == StaticForm::Library ? " * The shared object" : " * The object")
        << " that was made with this header needs "
        << (libm.empty() ? "" : "libm's functions (-lm) and ")
        << "memcpy and memset, nothing else.\n";
    return;
  }
  out << " * The object that was made with this header needs "
      << (needs.empty() ? "nothing" : "no more than")
      << " (of what the linker keeps of it, with --gc-sections)" << (needs.empty() ? ".\n" : ":\n");
  writeNeeds(out, "the C library", libc);
  writeNeeds(out, "its libm", libm);
  writeNeeds(out, "the compiler's run-time library (libgcc, compiler-rt)", compilers);
  out << " * It is for one thread: functions that share memory do not interrupt one another.\n";
}

static void writeOpening(llvm::raw_ostream &out, const StaticModule &module,
                         llvm::ArrayRef<std::string> needs, bool isBare) {
  std::string guard = "METATE_MODULE_" + StringRef(module.name).upper() + "_H";
  out << "/* Kernels of the module '" << module.name << "', compiled by "
      << module.text(module.header().producer) << ". Generated: do not edit.\n *\n";
  writeNeeds(out, module.form, needs, isBare);
  out << " * Functions return 0, or a metate_status (metate/abi/base.h): 5 too small, 6 "
         "misaligned, 8 a\n"
      << " * tree's pool is exhausted, 14 a failed assertion."
      << (isBare ? "" : " They may be called from any number of threads.") << "\n *\n"
      << " * pools: NULL, or of a kernel that plans memory an address for each of its pools, which "
         "are\n"
      << " * listed with it; what they hold need not be kept from one call to the next.\n"
      << " * host: NULL (serial and silent), or the hooks of metate/abi/kernel.h: executor, "
         "prints,\n"
      << " * where a failure is recorded. Arguments are not checked here: the packed entries and\n"
      << " * libmetate's launch check them. What is written must not overlap other arguments "
         "unless a\n"
      << " * kernel says that it may. */\n"
      << "#ifndef " << guard << "\n#define " << guard << "\n\n#include <stdint.h>\n\n"
      << staticMemberHelpers(module) << "#ifdef __cplusplus\nextern \"C\" {\n#endif\n\n"
      << "struct metate_host;\nunion metate_slot;\n\n"
      << "#ifndef METATE_STATIC_MODULE_DEFINED\n#define METATE_STATIC_MODULE_DEFINED\n"
      << "/* A linked module, for libmetate: metate_module_open_static(device, m.descriptor, "
         "m.bytes,\n"
      << " * m.entries, m.entry_count, &module). */\n"
      << "struct metate_static_module {\n  const void *descriptor;\n  uint64_t bytes;\n"
      << "  int32_t (*const *entries)(const union metate_slot *slots, void *const *pools,\n"
      << "                            const struct metate_host *host);\n"
      << "  uint32_t entry_count;\n  uint32_t reserved;\n};\n#endif\n"
      << "extern const struct metate_static_module " << module.moduleSymbol() << ";\n";
}

static void writeType(llvm::raw_ostream &out, const StaticModule &module, const StaticType &type) {
  StringRef printed(reinterpret_cast<const char *>(type.blob) + type.blob->text);
  bool pools = type.blob->pool_count;
  auto *levels = reinterpret_cast<const metate_level *>(type.blob + 1);
  // Only a level without bounds counts no cells.
  bool isUnbounded = llvm::any_of(llvm::ArrayRef(levels, type.blob->level_count),
                                  [](const metate_level &level) { return level.cells == 0; });
  out << "\n/* Tree type '" << module.text(type.info->name) << "': " << comment(printed) << "\n"
      << " * A block of it"
      << (isUnbounded ? ", with many slots for cells that have no bounds: so many bytes"
          : pools     ? ", with as many slots as its cells can ever link: so many bytes"
                      : "")
      << ", aligned to 64. */\n";
  if (type.bytes)
    out << "#define " << type.symbol << "_BYTES UINT64_C(" << type.bytes << ")\n";
  else
    out << "/* (More than 2^63 bytes: bring fewer.) */\n";
  out << "#define " << type.symbol << "_ALIGN " << METATE_BLOCK_ALIGN << "\n"
      << "/* Makes `bytes` bytes of memory a fresh tree: all background"
      << (pools ? ", nothing active. Fewer bytes hold fewer\n * active cells" : "") << ". */\n"
      << "int32_t " << type.symbol << "_reset(void *block, uint64_t bytes);\n";
  out << staticMembers(type);
}

/// In lines of at most 100 columns.
static void writePrototype(llvm::raw_ostream &out, const StaticKernel &kernel) {
  std::vector<std::string> pieces;
  for (const StaticParameter &parameter : kernel.parameters)
    pieces.push_back(parameter.type + parameter.name + parameter.suffix + ",");
  pieces.push_back("void *const *pools,");
  pieces.push_back("const struct metate_host *host);");
  std::string line = "int32_t " + kernel.direct + "(" + pieces[0];
  for (const std::string &piece : llvm::drop_begin(pieces)) {
    if (line.size() + 1 + piece.size() > 100) {
      out << line << "\n";
      line = "           ";
    }
    line += " " + piece;
  }
  out << line << "\n";
}

/// "n" of a factor: the direct entry's parameter in that slot, or the extent that is always the same.
static std::string factorName(const StaticKernel &kernel, uint32_t slot) {
  unsigned argument = 0;
  while (slot >= kernel.arguments[argument].first_slot + kernel.arguments[argument].slot_count)
    ++argument;
  const metate_argument_info &info = kernel.arguments[argument];
  unsigned dimension = slot - info.first_slot - 1;
  bool isArray = info.kind == METATE_ARGUMENT_NDARRAY;
  for (const StaticParameter &parameter : kernel.parameters)
    if (isArray ? parameter.isExtentOf(argument, dimension, info.fixed[dimension])
                : parameter.argument == argument && parameter.kind == StaticParameter::Itself)
      return parameter.name;
  return std::to_string(info.fixed[dimension]);
}

/// Bounds as macros, so that arrays may be as large as they can ever be.
static void writeDims(llvm::raw_ostream &out, const StaticModule &module,
                      const StaticKernel &kernel) {
  for (const metate_dim_info &dim : kernel.dims) {
    std::string name = module.text(dim.name).str(), prefix = kernel.direct + "_" + name;
    out << "/* " << name << ": what '" << module.text(kernel.info->name)
        << "' takes as an extent; it returns 2 for any other. */\n#define " << prefix << "_MIN "
        << dim.min << "\n#define " << prefix << "_MAX "
        << (isMutant(Mutant::HeaderMaximumIsLeast) ? dim.min : dim.max) << "\n#define " << prefix
        << "_MULTIPLE " << dim.multiple << "\n";
  }
}

/// What the pools' sizes are at most, by pool; UINT64_MAX where nothing bounds them.
static std::vector<uint64_t> largestPools(const StaticModule &module, const StaticKernel &kernel) {
  std::vector<metate_slot> slots(kernel.info->slot_count);
  metate_largest_slots(kernel.info, kernel.arguments.data(),
                       module.table<metate_dim_info>(module.header().dims).data(), slots.data());
  std::vector<uint64_t> bytes;
  for (const metate_pool_info &pool : kernel.pools)
    bytes.push_back(metate_pool_bytes(&pool, slots.data()));
  return bytes;
}

/// Sizes as macros, so that memory may be an array: constant where the size is, else of the direct entry's
/// parameters, and of how many workers there are.
static void writePools(llvm::raw_ostream &out, const StaticModule &module,
                       const StaticKernel &kernel) {
  if (kernel.pools.empty())
    return;
  out << "\n/* Memory that '" << module.text(kernel.info->name)
      << "' plans: pools[k] is the address of pool k. */\n#define " << kernel.direct << "_POOLS "
      << kernel.pools.size() << "\n";
  std::vector<uint64_t> largest = largestPools(module, kernel);
  for (auto [k, pool] : llvm::enumerate(kernel.pools)) {
    std::vector<std::string> parameters;
    std::string size = "UINT64_C(" + std::to_string(pool.scale) + ")";
    for (uint32_t slot : pool.factors) {
      if (slot == METATE_NONE)
        break;
      std::string name = factorName(kernel, slot);
      if (!llvm::isDigit(name[0]) && !llvm::is_contained(parameters, name))
        parameters.push_back(name);
      size += " * (uint64_t)((" + name + ") > 0 ? (" + name + ") : 0)";
    }
    std::string align = "UINT64_C(" + std::to_string(pool.align) + ")";
    size = "((UINT64_C(" + std::to_string(pool.bytes) + ") + " + size + " + " + align + " - 1) / " +
           align + " * " + align + ")";
    if (pool.kind == METATE_POOL_WORKER) {
      parameters.push_back("workers");
      size = "(" + size + " * (uint64_t)(workers))";
    }
    std::string prefix = kernel.direct + "_" + module.text(pool.name).str();
    out << "/* pool " << k << ", '" << module.text(pool.name) << "'"
        << (pool.kind == METATE_POOL_WORKER
                ? ": for host->max_workers workers; for one where that is 0 or the host NULL"
                : "")
        << " */\n#define " << prefix << "_BYTES"
        << (parameters.empty() ? "" : "(" + llvm::join(parameters, ", ") + ")") << " " << size
        << "\n#define " << prefix << "_ALIGN " << pool.align << "\n";
    StringRef memory = module.memoryOf(pool);
    if (!memory.empty())
      out << "#define " << prefix << "_MEMORY \"" << memory << "\"\n";
    if (largest[k] != UINT64_MAX)
      out << "#define " << prefix << "_BYTES_MAX UINT64_C(" << largest[k] << ")\n";
  }
}

static void writeKernel(llvm::raw_ostream &out, const StaticModule &module,
                        const StaticKernel &kernel, llvm::ArrayRef<StaticType> types,
                        llvm::ArrayRef<metate_text> texts) {
  bool isGraph = kernel.info->flags & METATE_KERNEL_GRAPH;
  out << "\n/* " << (isGraph ? "Graph" : "Kernel") << " '" << module.text(kernel.info->name) << "'";
  if (kernel.info->source != METATE_NONE) {
    const metate_text &place = texts[kernel.info->source];
    out << ", " << comment(module.text(place.file)) << ":" << place.line;
  }
  out << ".";
  if (!(kernel.info->flags & METATE_KERNEL_NO_ALIAS))
    out << " Arguments may overlap.";
  if (kernel.info->flags & METATE_KERNEL_DEBUG)
    out << " It stops at wrong accesses.";
  for (llvm::StringRef primal : kernel.primals)
    out << " The derivative of " << primal << " mode.";
  out << "\n";
  llvm::SmallVector<StringRef> lines;
  module.documentation(kernel).split(lines, '\n');
  for (StringRef line : module.documentation(kernel).empty() ? llvm::ArrayRef<StringRef>() : lines)
    out << (" *   " + comment(line)) << "\n";
  for (const StaticParameter &parameter : kernel.parameters)
    if (parameter.kind == StaticParameter::Itself)
      out << " *   " << comment(describe(module, kernel, parameter, types)) << "\n";
  out << " * Signature 0x" << llvm::utohexstr(kernel.info->signature, true, 16) << ". */\n";
  writePrototype(out, kernel);
  out << "/* The same by tvm-ffi's calling convention (TVMFFISafeCallType), arguments checked"
      << (kernel.pools.empty() ? "" : "; its pools, arrays of\n * u8, are its last arguments")
      << ". */\n"
      << "int32_t " << kernel.packed
      << "(void *self, const void *arguments, int32_t count,\n            void *result);\n";
}

static void writeSessions(llvm::raw_ostream &out, const StaticModule &module) {
  if (module.sessions.empty())
    return;
  out << "\n/* A kernel run by steps, by the names of its arguments, by the same convention. What "
         "is kept "
         "between\n * the calls lies in `memory`, an array of u8 that is aligned to 8 bytes: "
         "bytes(kernel) "
         "says how\n * many, open(memory, kernel), set_input(memory, name, value), run(memory),\n"
      << " * get_output(memory, name), close(memory). */\n";
  for (const StaticSession &session : module.sessions)
    out << "int32_t " << session.symbol
        << "(void *self, const void *arguments, int32_t count,\n            void *result);\n";
}

std::string metate::staticHeader(const StaticModule &module, llvm::ArrayRef<std::string> needs,
                                 bool isBare) {
  std::string text;
  llvm::raw_string_ostream out(text);
  writeOpening(out, module, needs, isBare);
  for (const StaticType &type : module.types)
    writeType(out, module, type);
  llvm::ArrayRef<metate_text> texts = module.table<metate_text>(module.header().texts);
  for (const StaticKernel &kernel : module.kernels)
    writeKernel(out, module, kernel, module.types, texts), writeDims(out, module, kernel),
        writePools(out, module, kernel);
  writeSessions(out, module);
  out << "\n#ifdef __cplusplus\n}\n#endif\n\n#endif\n";
  return text;
}
