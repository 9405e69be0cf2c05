// metate-run: the command line. It parses the subcommand and reports errors; the work is elsewhere.
#include "common.h"

#include <cstdio>
#include <utility>

namespace metate::tool {

static const char help[] =
    R"(metate-run: look at, check, run and measure Metate modules. Needs no Python and no compiler.

  metate-run inspect FILE [--json]     what is in a module: types, levels, kernels, variants, sections
  metate-run verify FILE [--key=PUBLIC.pem]
                                       check every byte, and who has signed it; exit status 0 if all is sound
  metate-run sign FILE --key=PRIVATE.pem
                                       write FILE.sig, the Ed25519 signature of FILE's bytes
  metate-run run FILE KERNEL[,KERNEL]  run kernels one after the other on made-up or given inputs
             [NAME=INPUT ...] [--repeat=N] [--save=NAME=OUT.npy ...] [--expect=NAME=WHAT[:RTOL] ...]
             [--threads=N] [--level=LEVEL] [--guard] [--json]
  metate-run bench FILE KERNEL[,KERNEL]  measure the last one; those before it run once
             [NAME=INPUT ...] [--seconds=S] [--elements=N|NAME] [--threads=N] [--level=LEVEL] [--guard] [--json]
  metate-run merge A.metate B.metate ... -o OUT.metate
                                       one file of modules of the same source for several machines

Inputs of `run` and `bench`, by the argument's name; kernels that share a name share the value:
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

  --expect=y=out.npy:1e-5     y must be what the file holds, within a relative tolerance (default: exactly)
  --expect=total=10           every element must be this; a,b,c: these. Else the exit status is 1
  --guard                     arrays, trees and pools end where a page begins that nobody may touch: a kernel
                              that does is stopped, and what it touched is named
  --level=standard            through libmetate (the default)
  --level=direct              by bare entries, as firmware calls kernels: checked once, not at each call
  --level=packed              by tvm-ffi's convention: of a shared library, NAME.so, that was linked of the
                              object NAME.o of `metate build`; .metate files have no packed entries
  --elements=x                of `bench`: show the time for each element of x, or of a number
  --json                      one JSON document on stdout; what kernels print goes to stderr

A first try:
  metate-run inspect ab.metate
  metate-run run ab.metate fill,run1 f=new
  metate-run bench ab.metate axpy s=2 x=random:1:[1000000] y=zeros:[1000000] --elements=x --threads=4

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
  const std::pair<const char *, int (*)(const std::vector<std::string> &)> verbs[] = {
      {"inspect", inspect}, {"verify", verify}, {"run", run},
      {"bench", bench},     {"merge", merge},   {"sign", sign}};
  for (auto [name, verb] : verbs)
    if (words[0] == name)
      return verb(rest);
  std::fprintf(stderr,
               "metate-run: expected inspect, verify, run, bench, merge or sign, got '%s': see "
               "metate-run --help\n",
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
