// metate-run run: launches kernels on pseudo-inputs and summarises what they wrote.
#include "common.h"
#include "inputs.h"

#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <map>
#include <system_error>
#include <thread>

namespace metate::tool {

namespace {

struct Options {
  std::string file;
  std::vector<std::string> kernels;
  std::map<std::string, std::string> inputs; // spelling by name
  std::map<std::string, std::string> save;   // file by name
  uint32_t threads = 1;
  uint32_t repeat = 1;
};

uint32_t parseCount(const std::string &option, const std::string &text) {
  if (text.empty() || text.size() > 6 ||
      text.find_first_not_of("0123456789") != std::string::npos || std::stoul(text) == 0)
    throw Error(option + ": expected a number from 1 to 999999, got '" + text + "'");
  return uint32_t(std::stoul(text));
}

std::pair<std::string, std::string> parsePair(const std::string &text) {
  size_t at = text.find('=');
  if (at == std::string::npos || at == 0 || at + 1 == text.size())
    throw Error("expected NAME=VALUE, got '" + text + "': see metate-run --help");
  return {text.substr(0, at), text.substr(at + 1)};
}

Options parse(const std::vector<std::string> &words) {
  if (words.size() < 2)
    throw Error("run: expected a file and a kernel: see metate-run --help");
  Options options;
  options.file = words[0];
  options.kernels = split(words[1], ',');
  for (size_t i = 2; i < words.size(); ++i) {
    const std::string &word = words[i];
    if (word.rfind("--threads=", 0) == 0)
      options.threads = parseCount("--threads", word.substr(10));
    else if (word.rfind("--repeat=", 0) == 0)
      options.repeat = parseCount("--repeat", word.substr(9));
    else if (word.rfind("--save=", 0) == 0)
      options.save.insert(parsePair(word.substr(7)));
    else if (word.rfind("--", 0) == 0)
      throw Error("unknown option '" + word + "': see metate-run --help");
    else
      options.inputs.insert(parsePair(word));
  }
  return options;
}

// parallel_for over threads that are started for each task: for trying things out, not for speed.
struct Threads {
  uint32_t count;

  static int32_t parallelFor(void *self, int64_t count, int64_t grain, uint32_t max_workers,
                             metate_task_body body, void *context) {
    uint32_t workers = static_cast<Threads *>(self)->count;
    if (max_workers && max_workers < workers)
      workers = max_workers;
    int64_t step = std::max(grain, count / (int64_t(workers) * 4) + 1);
    std::atomic<int64_t> next{0};
    std::atomic<int32_t> status{METATE_OK};
    auto work = [&](uint32_t worker) {
      for (int64_t begin; status == METATE_OK && (begin = next.fetch_add(step)) < count;) {
        int32_t expected = METATE_OK;
        if (int32_t result = body(context, begin, std::min(begin + step, count), worker))
          status.compare_exchange_strong(expected, result);
      }
    };
    std::vector<std::thread> threads;
    try {
      for (uint32_t worker = 1; worker < workers; ++worker)
        threads.emplace_back(work, worker);
    } catch (const std::system_error &) {
      // No more threads to be had: those there are share the work.
    }
    work(0);
    for (std::thread &thread : threads)
      thread.join();
    return status;
  }
};

void printText(void *, const char *text, size_t bytes) { std::fwrite(text, 1, bytes, stdout); }

// A result that was not named: an array of its fixed extents.
std::string resultSpelling(const metate_argument_description &argument) {
  std::string shape;
  for (uint32_t k = 0; k < argument.rank; ++k) {
    if (argument.fixed[k] < 0)
      throw Error(std::string(argument.name) + ": the result has no fixed shape: name it, for "
                                               "example zeros:[n]");
    shape += (k ? "," : "") + std::to_string(argument.fixed[k]);
  }
  return "zeros:[" + shape + "]";
}

struct Statistics {
  uint64_t count = 0;
  double least = INFINITY, most = -INFINITY, sum = 0;

  void add(uint32_t dtype, const uint8_t *data, uint64_t scalars) {
    for (uint64_t i = 0; i < scalars; ++i) {
      double value = asDouble(dtype, data + i * metate_dtype_bytes(dtype));
      least = std::fmin(least, value);
      most = std::fmax(most, value);
      sum += value;
    }
    count += scalars;
  }
  void show() const {
    if (count)
      std::printf("min %.9g, max %.9g, mean %.9g\n", least, most, sum / double(count));
    else
      std::printf("empty\n");
  }
};

void summariseArray(const std::string &name, const Array &array) {
  std::string shape;
  for (int64_t extent : array.shape)
    shape += (shape.empty() ? "" : ", ") + std::to_string(extent);
  std::printf("%s: %s [%s]: ", name.c_str(), metate_dtype_name(array.dtype), shape.c_str());
  Statistics statistics;
  statistics.add(array.dtype, array.data(), array.count());
  statistics.show();
}

void summariseTree(const std::string &name, const Tree &tree) {
  std::printf("%s: %llu bytes\n", name.c_str(),
              static_cast<unsigned long long>(tree.describe().bytes));
  for (const metate_pool_stats &pool : tree.stats())
    std::printf("  %s: %llu of %llu slots in use\n", pool.name,
                static_cast<unsigned long long>(pool.used),
                static_cast<unsigned long long>(pool.capacity));
  const metate_type *type = tree.describe().type;
  for (uint32_t i = 0; i < TreeType(type).describe().level_count; ++i) {
    auto level = sized<metate_level_description>();
    check(metate_type_level(type, i, &level));
    if (level.kind != METATE_LEVEL_PLACE)
      continue;
    uint64_t count = 0;
    check(metate_tree_cells(tree.get(), i, 0, nullptr, nullptr, &count));
    std::vector<uint8_t> values(count * level.cell_bytes);
    check(metate_tree_cells(tree.get(), i, count, nullptr, values.data(), &count));
    std::printf("  %s: %llu active cells: ", level.name, static_cast<unsigned long long>(count));
    Statistics statistics;
    statistics.add(level.dtype, values.data(), count * level.rows * level.columns);
    statistics.show();
  }
}

void saveMember(const Tree &tree, const std::string &member, const std::string &path) {
  const metate_type *type = tree.describe().type;
  uint32_t index = 0;
  check(metate_type_find_member(type, member.c_str(), &index));
  auto level = sized<metate_level_description>();
  check(metate_type_level(type, index, &level));
  std::vector<int64_t> shape(level.shape, level.shape + level.path_rank);
  uint64_t bytes = level.cell_bytes;
  for (int64_t extent : shape)
    bytes *= uint64_t(extent);
  if (level.element_rank >= 1)
    shape.push_back(level.rows);
  if (level.element_rank == 2)
    shape.push_back(level.columns);
  std::vector<uint8_t> values(bytes);
  check(metate_tree_read_dense(tree.get(), index, values.data(), bytes));
  writeNpy(path, level.dtype, shape, values.data());
}

class Session {
public:
  Session(const Options &options, const Module &module) : options(options), module(module) {}

  void launch(const std::string &name) {
    Kernel kernel = module.kernel(name.c_str());
    std::vector<metate_argument> list;
    for (const metate_argument_description &argument : kernel.arguments()) {
      list.push_back(inputFor(argument).get());
      if (argument.access & (METATE_ACCESS_WRITE | METATE_ACCESS_ACTIVATE))
        written[argument.name] = true;
    }
    auto start = std::chrono::steady_clock::now();
    for (uint32_t i = 0; i < options.repeat; ++i)
      check(metate_kernel_launch(kernel.get(), list.data(), uint32_t(list.size())));
    double ms =
        std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
    std::fflush(stdout);
    std::printf("%s: %.3f ms%s\n", name.c_str(), ms / options.repeat,
                options.repeat > 1 ? " on average" : "");
  }

  void finish() {
    for (auto &[name, input] : inputs) {
      if (!written.count(name))
        continue;
      if (input.kind() == METATE_ARGUMENT_TREE)
        summariseTree(name, input.tree());
      else
        summariseArray(name, input.elements());
    }
    for (const auto &[name, path] : options.save)
      save(name, path);
    for (const auto &[name, spelling] : options.inputs)
      if (!inputs.count(name))
        throw Error("no kernel that ran has an argument named '" + name + "'");
  }

private:
  const Options &options;
  const Module &module;
  std::map<std::string, Input> inputs;
  std::map<std::string, bool> written;

  Input &inputFor(const metate_argument_description &argument) {
    auto known = inputs.find(argument.name);
    if (known != inputs.end())
      return known->second;
    auto spelled = options.inputs.find(argument.name);
    if (spelled == options.inputs.end() && !(argument.flags & METATE_ARGUMENT_RESULT))
      throw Error("argument '" + std::string(argument.name) + "' (" + showArgument(argument) +
                  ") is missing: write " + argument.name + "=...: see metate-run --help");
    std::string spelling =
        spelled == options.inputs.end() ? resultSpelling(argument) : spelled->second;
    return inputs.emplace(argument.name, Input(argument, spelling)).first->second;
  }

  void save(const std::string &name, const std::string &path) {
    size_t dot = name.find('.');
    auto input = inputs.find(name.substr(0, dot));
    if (input == inputs.end())
      throw Error("--save: no argument named '" + name.substr(0, dot) + "'");
    if (input->second.kind() == METATE_ARGUMENT_TREE) {
      if (dot == std::string::npos)
        throw Error("--save: '" + name + "' is a tree: name a member, like " + name + ".a");
      saveMember(input->second.tree(), name.substr(dot + 1), path);
      return;
    }
    const Array &array = input->second.elements();
    writeNpy(path, array.dtype, array.shape, array.data());
  }
};

} // namespace

int run(const std::vector<std::string> &words) {
  Options options = parse(words);
  Threads threads{options.threads};
  metate_executor executor{&threads, Threads::parallelFor, options.threads, 0};
  metate_print_sink sink{nullptr, printText};
  auto hooks = sized<metate_device_hooks>();
  hooks.executor = options.threads > 1 ? &executor : nullptr;
  hooks.print = &sink;
  Device device = Device::open(&hooks);
  Module module = Module::open(options.file.c_str(), device);
  Session session(options, module);
  for (const std::string &kernel : options.kernels)
    session.launch(kernel);
  session.finish();
  return 0;
}

} // namespace metate::tool
