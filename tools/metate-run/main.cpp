// metate-run: the command line. It parses the subcommand and reports errors; the work is elsewhere.
#include "common.h"

#include <cstdio>
#include <cstring>

namespace metate::tool {

static const char help[] =
    R"(metate-run: look at, check and run Metate modules. Needs no Python and no compiler.

  metate-run inspect FILE              what is in a module: types, levels, kernels, variants, sections
  metate-run verify FILE               check every byte; exit status 0 if the module is sound
  metate-run run FILE KERNEL[,KERNEL]  run kernels one after the other on made-up or given inputs
             [NAME=INPUT ...] [--threads=N] [--repeat=N] [--save=NAME=OUT.npy ...]

Inputs of `run`, by the argument's name; kernels that share a name share the value:
  n=42  t=0.5  on=true        a scalar
  v=1,2,3                     a vector or matrix, row-major
  x=zeros:[4096]              an array of zeros; also ones:, iota: (0, 1, 2, ...)
  x=random:7:[64,64]          pseudo-random, the same on every machine for one seed:
                              floats in [0, 1), integers in [0, 100), booleans
  x=points.npy                a NumPy file of the argument's type
  f=new                       an empty tree with as much room as the policy gives
  f=new:pointer0=100          an empty tree with room for 100 cells of level pointer0
A result is made when it is not named. After the run every written argument is summarised;
--save=x=out.npy writes an array, --save=f.a=out.npy a tree's member as a dense array.

A first try:
  metate-run inspect ab.metate
  metate-run run ab.metate fill,run1 f=new

Exit status: 0 done, 1 failed (the message says what was expected and got), 2 wrong usage.
)";

static int dispatch(const std::vector<std::string> &words) {
  if (words.empty()) {
    std::fputs(help, stderr);
    return 2;
  }
  if (words[0] == "--help" || words[0] == "-h" || words[0] == "help") {
    std::fputs(help, stdout);
    return 0;
  }
  std::vector<std::string> rest(words.begin() + 1, words.end());
  for (const std::string &word : rest)
    if (word == "--help" || word == "-h") {
      std::fputs(help, stdout);
      return 0;
    }
  if (words[0] == "inspect")
    return inspect(rest);
  if (words[0] == "verify")
    return verify(rest);
  if (words[0] == "run")
    return run(rest);
  std::fprintf(stderr,
               "metate-run: expected inspect, verify or run, got '%s': see metate-run --help\n",
               words[0].c_str());
  return 2;
}

} // namespace metate::tool

int main(int count, char **words) {
  try {
    return metate::tool::dispatch(std::vector<std::string>(words + 1, words + count));
  } catch (const std::exception &error) {
    std::fprintf(stderr, "metate-run: %s\n", error.what());
    return 1;
  }
}
