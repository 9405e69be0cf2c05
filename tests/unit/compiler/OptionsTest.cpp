// The table of options as C++ sees it: values as text, and which of them code depends on.
#include "Saxpy.h"

#include "metate/Options/Options.h"

#include <gtest/gtest.h>

using namespace metate;
using namespace metate::test;

/// A value of the option that is not the default's, as text.
static std::string other(const OptionInfo &info) {
  if (info.type == "bool")
    return info.value == "true" ? "false" : "true";
  return info.type == "Sanitizer" ? "thread" : info.type == "Reserve" ? "only" : "1";
}

TEST(Options, AChangedOptionIsToldByItsName) {
  for (const OptionInfo &info : optionTable()) {
    SCOPED_TRACE(info.name.str());
    Options options;
    llvm::cantFail(setOption(options, info.name, other(info)));
    EXPECT_EQ(changedOptions(options), info.name.str() + "=" + other(info));
  }
  EXPECT_EQ(changedOptions({}), "");
}

TEST(Options, WrongNamesAndValuesAreTold) {
  Options options;
  std::string error = textOf(setOption(options, "scan_mask", "true"));
  EXPECT_NE(error.find("no option 'scan_mask'; the options are opt_level, "), std::string::npos);
  for (const OptionInfo &info : optionTable()) {
    error = textOf(setOption(options, info.name, "what"));
    EXPECT_EQ(error.find(info.name.str() + ": expected "), 0u) << error;
    EXPECT_NE(error.find(", got 'what'"), std::string::npos) << error;
  }
}
