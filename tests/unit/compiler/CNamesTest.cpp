// The names that C programs have without us: all that the headers of this machine declare is known, and little else.
#include "metate/Module/CNames.h"

#include "gtest/gtest.h"

#include <cstdio>
#include <regex>
#include <set>
#include <string>

using namespace metate;

namespace {

const char *const headers = "assert complex ctype errno fenv float inttypes limits locale math "
                            "setjmp signal stdarg stdatomic stddef "
                            "stdint stdio stdlib string threads time uchar wchar wctype "
                            "aio arpa/inet dirent dlfcn fcntl pthread semaphore sched mqueue "
                            "sys/mman sys/socket sys/stat sys/time "
                            "sys/types sys/wait unistd";

/// What the headers become, or "" where there is no C compiler.
std::string preprocessed(const char *options) {
  std::string
      command =
          "for h in " + std::string(headers) +
          "; do echo \"#include <$h.h>\"; done | gcc -std=c11 -D_POSIX_C_SOURCE=200809L -E -P " +
          options + " - 2>/dev/null",
      text;
  FILE *pipe = popen(command.c_str(), "r");
  char part[4096];
  while (size_t count = pipe ? fread(part, 1, sizeof part, pipe) : 0)
    text.append(part, count);
  if (pipe)
    pclose(pipe);
  return text;
}

std::set<std::string> namesIn(const std::string &text, const char *pattern) {
  std::set<std::string> names;
  std::regex regex(pattern);
  for (std::sregex_iterator at(text.begin(), text.end(), regex), end; at != end; ++at)
    if (std::string name = (*at)[1]; name.find('_') != std::string::npos && name[0] != '_')
      names.insert(name);
  return names;
}

} // namespace

TEST(CNames, functionsAndTypesOfTheHeadersAreKnown) {
  std::string text = preprocessed("");
  if (text.empty())
    GTEST_SKIP() << "there is no gcc";
  std::set<std::string> functions = namesIn(text, "\\b([A-Za-z]\\w*) *\\("),
                        types = namesIn(text, "\\b([a-z]\\w*_t)\\b");
  EXPECT_GT(functions.size(), 150u);
  EXPECT_GT(types.size(), 60u);
  for (const std::set<std::string> &names : {functions, types})
    for (const std::string &name : names)
      EXPECT_TRUE(isNameOfC(name)) << name;
}

TEST(CNames, macrosThatGeneratedFilesSeeAreKnown) {
  std::string text = preprocessed("-dM");
  if (text.empty())
    GTEST_SKIP() << "there is no gcc";
  std::set<std::string> macros =
      namesIn(text, "#define "
                    "((?:INT|UINT|SIZE|PTRDIFF|WCHAR|WINT|SIG_ATOMIC|FLT|DBL|LDBL|FE|HUGE|MATH|"
                    "CHAR|SCHAR|UCHAR|SHRT|LONG|ULONG|"
                    "LLONG|ULLONG|RAND|EXIT|CLOCK|LC|SEEK|ATOMIC)\\w*_\\w*)");
  EXPECT_GT(macros.size(), 150u);
  for (const std::string &name : macros)
    EXPECT_TRUE(isNameOfC(name) || isWordOfC(name)) << name;
}

TEST(CNames, namesOfPrograms) {
  for (const char *name :
       {"static_assert", "size_t", "int32_t", "pthread_create", "clock_gettime", "metate_module",
        "INT8_MAX", "METATE_OK", "co_await", "thrd_create", "strtok_r", "not_eq"})
    EXPECT_TRUE(isNameOfC(name)) << name;
  for (const char *name : {"heat_step", "size_of", "heat_t", "m_main", "m_run", "M_K", "M_K_N_MAX",
                           "clock_tick", "timer_start", "int_32_t", "atom_load", "atomic_step",
                           "sem_module", "sched_run", "sort_r", "FLUID_MAX"})
    EXPECT_FALSE(isNameOfC(name)) << name;
  EXPECT_TRUE(isWordOfC("int") && isWordOfC("FLT_MAX") && isWordOfC("M_PI") &&
              !isWordOfC("size_t"));
}
