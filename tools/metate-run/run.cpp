// metate-run run: launches kernels on pseudo-inputs and summarises what they wrote.
#include "json.h"
#include "session.h"

#include <chrono>
#include <cmath>
#include <cstdio>

namespace metate::tool {

namespace {

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
  void show(Json &json) const {
    json.pair("count", count);
    if (count)
      json.pair("min", least).pair("max", most).pair("mean", sum / double(count));
  }
};

/// Calls visit(name, statistics, active cells) for each member of a tree.
template <typename Visit> void forEachMember(const Tree &tree, Visit &&visit) {
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
    Statistics statistics;
    statistics.add(level.dtype, values.data(), count * level.rows * level.columns);
    visit(level.name, statistics, count);
  }
}

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
  forEachMember(tree, [](const char *name, const Statistics &statistics, uint64_t cells) {
    std::printf("  %s: %llu active cells: ", name, static_cast<unsigned long long>(cells));
    statistics.show();
  });
}

void addArray(Json &json, const Array &array) {
  json.pair("dtype", metate_dtype_name(array.dtype)).key("shape").array();
  for (int64_t extent : array.shape)
    json.value(extent);
  json.end();
  Statistics statistics;
  statistics.add(array.dtype, array.data(), array.count());
  statistics.show(json);
}

void addTree(Json &json, const Tree &tree) {
  json.pair("bytes", tree.describe().bytes).key("pools").array();
  for (const metate_pool_stats &pool : tree.stats())
    json.object()
        .pair("name", pool.name)
        .pair("used", pool.used)
        .pair("capacity", pool.capacity)
        .end();
  json.end().key("members").object();
  forEachMember(tree, [&](const char *name, const Statistics &statistics, uint64_t cells) {
    json.key(name).object().pair("active_cells", cells);
    statistics.show(json);
    json.end();
  });
  json.end();
}

struct Launched {
  std::string kernel;
  double milliseconds;
};

void reportAsJson(const Session &session, const std::vector<Launched> &launched,
                  const std::vector<Expectation> &expectations) {
  Json json;
  json.object().key("kernels").array();
  for (const Launched &one : launched)
    json.object().pair("name", one.kernel).pair("milliseconds", one.milliseconds).end();
  json.end().key("written").object();
  for (const auto &[name, input] : session.inputs()) {
    if (!session.isWritten(name))
      continue;
    json.key(name).object();
    input.kind() == METATE_ARGUMENT_TREE ? addTree(json, input.tree())
                                         : addArray(json, input.elements());
    json.end();
  }
  json.end().key("expected").object();
  for (const Expectation &one : expectations)
    json.key(one.name).value(one.text.empty() ? "ok" : one.text);
  std::printf("%s\n", json.end().end().text().c_str());
}

} // namespace

int run(const std::vector<std::string> &words) {
  Options options = parseOptions("run", words);
  Session session(options);
  std::vector<Launched> launched;
  for (const std::string &kernel : options.kernels) {
    auto launch = session.launcher(kernel);
    auto start = std::chrono::steady_clock::now();
    for (uint32_t i = 0; i < options.repeat; ++i)
      launch();
    std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - start;
    launched.push_back({kernel, took.count() / options.repeat});
    if (options.json)
      continue;
    std::fflush(stdout);
    std::printf("%s: %.3f ms%s\n", kernel.c_str(), launched.back().milliseconds,
                options.repeat > 1 ? " on average" : "");
  }
  session.requireAllUsed();
  std::vector<Expectation> expectations = compareExpected(options, session);
  if (options.json)
    reportAsJson(session, launched, expectations);
  else
    for (const auto &[name, input] : session.inputs())
      if (session.isWritten(name))
        input.kind() == METATE_ARGUMENT_TREE ? summariseTree(name, input.tree())
                                             : summariseArray(name, input.elements());
  for (const auto &[name, path] : options.save) {
    Array array = session.elementsOf("--save", name);
    writeNpy(path, array.dtype, array.shape, array.data());
  }
  bool isAsExpected = true;
  for (const Expectation &one : expectations) {
    isAsExpected &= one.text.empty();
    if (!one.text.empty())
      std::fprintf(stderr, "metate-run: %s: %s\n", one.name.c_str(), one.text.c_str());
    else if (!options.json)
      std::printf("%s: as expected\n", one.name.c_str());
  }
  return isAsExpected ? 0 : 1;
}

} // namespace metate::tool
