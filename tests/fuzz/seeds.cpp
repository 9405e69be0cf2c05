// Types and modules that the corpora and the harnesses start from.
#include "seeds.h"

namespace metate::fuzz {

using namespace metate::test;

std::vector<std::pair<std::string, Bytes>> seedTypes() {
  auto blob = [](const char *name, std::vector<Node> branches) {
    return std::pair<std::string, Bytes>(name, typeBlob(branches, name));
  };
  return {
      blob("scalar", {place("n", METATE_I32)}),
      blob("flat", {dense("d", "i", {6}, {place("x", METATE_F32), place("on", METATE_U1)})}),
      blob("links", {pointer("p", "i", {4}, {place("x", METATE_I64)})}),
      blob("rows", {pointer("p", "ij", {2, 2},
                            {dense("d", "ij", {2, 2},
                                   {place("a", METATE_F32), place("b", METATE_F32, 3)})})}),
      blob("nested",
           {pointer("outer", "ij", {2, 2},
                    {pointer("inner", "ij", {2, 2},
                             {dense("d", "ij", {2, 2},
                                    {withBackground<float>(place("x", METATE_F32), {1.5f}),
                                     place("on", METATE_U1)})})})}),
      blob("branches", {pointer("p", "ik", {3, 2},
                                {dense("d", "ij", {2, 3},
                                       {place("x", METATE_I64), place("m", METATE_F64, 2, 2)}),
                                 dense("e", "i", {3}, {place("s", METATE_U16)})}),
                        dense("flat", "j", {6}, {place("y", METATE_I8)}), place("n", METATE_I32)}),
      blob("below-dense", {dense("d", "i", {3},
                                 {pointer("p", "ij", {2, 2}, {place("h", METATE_F16)}),
                                  place("count", METATE_U32)})}),
      blob("words", {dense("d", "i", {3},
                           {bitStruct(32, {quantInt("n", 5, true, METATE_I32),
                                           quantFixed("f", 10, false, 0.25, METATE_F32),
                                           quantFloat("h", 5, 11, true, METATE_F64)}),
                            place("b", METATE_U8)})}),
      blob("shared", {pointer("p", "i", {3},
                              {bitStruct(32, {shared({quantFloat("u", 5, 9, true, METATE_F32),
                                                      quantFloat("v", 5, 9, true, METATE_F32)}),
                                              quantInt("n", 3, false, METATE_U8)})})}),
      blob("elements",
           {bitmasked("b", "i", {3},
                      {quantArray("q", "ij", {2, 5}, 16,
                                  withBackground<int16_t>(quantInt("n", 5, true, METATE_I16), {-3}),
                                  0x1d | 0x1d << 5 | 0x1d << 10)})}),
      blob("masks", {pointer("p", "i", {3},
                             {bitmasked("b", "i", {34},
                                        {withBackground<int32_t>(place("x", METATE_I32), {7})})})}),
      blob("lists",
           {dense("d", "i", {2},
                  {dynamic("l", "j", 10, 4, {pointer("p", "k", {2}, {place("x", METATE_I32)})})})}),
      blob("table",
           {bitmasked("b", "k", {3},
                      {hash("h", "ij", {dense("d", "i", {2}, {place("x", METATE_I32)})})})}),
  };
}

static ArgumentSpec array(const char *name, uint32_t dtype, uint32_t rank, uint32_t access) {
  ArgumentSpec spec{name, METATE_ARGUMENT_NDARRAY, dtype};
  spec.rank = rank;
  spec.access = access;
  return spec;
}

static ArgumentSpec tree(const char *name, uint32_t type, uint32_t access) {
  ArgumentSpec spec{name, METATE_ARGUMENT_TREE};
  spec.type = type;
  spec.access = access;
  return spec;
}

ModuleSpec seedModule() {
  const uint32_t read = METATE_ACCESS_READ, write = METATE_ACCESS_WRITE;
  const uint32_t activate = write | METATE_ACCESS_ACTIVATE;
  auto types = seedTypes();
  ArgumentSpec vector{"v", METATE_ARGUMENT_VECTOR, METATE_F32, 3, 1, 1};
  ArgumentSpec matrix{"m", METATE_ARGUMENT_VECTOR, METATE_F64, 2, 2, 2};
  ArgumentSpec vectors = array("vs", METATE_F32, 2, read | write);
  vectors.rows = 3;
  vectors.elementRank = 1;
  vectors.fixed = {-1, 3};
  ArgumentSpec image = array("image", METATE_U8, 3, read | write);
  image.fixed = {-1, -1, 4};
  image.flags = METATE_ARGUMENT_CONTIGUOUS;
  ArgumentSpec result = array("result", METATE_F64, 0, write);
  result.flags = METATE_ARGUMENT_RESULT;
  // More argument slots than a launch keeps on its stack.
  std::vector<ArgumentSpec> many;
  for (const char *name : {"a", "b", "c", "d", "e", "f", "g", "h"})
    many.push_back(array(name, METATE_I16, METATE_MAX_RANK, read));
  ArgumentSpec square = array("x", METATE_F32, 2, read), lines = array("y", METATE_F32, 3, write);
  square.fixed = {METATE_EXTENT_OF_DIM(0), METATE_EXTENT_OF_DIM(0)};
  lines.fixed = {METATE_EXTENT_OF_DIM(0), METATE_EXTENT_OF_DIM(1), 2};
  ModuleSpec spec;
  spec.name = "seed";
  spec.types = {types[3], types[5]};
  spec.kernels = {
      {"empty", {}},
      {"scalars",
       {{"a", METATE_ARGUMENT_SCALAR, METATE_I8},
        {"b", METATE_ARGUMENT_SCALAR, METATE_U1},
        {"c", METATE_ARGUMENT_SCALAR, METATE_F16},
        {"d", METATE_ARGUMENT_SCALAR, METATE_U64}}},
      {"values", {vector, matrix}, 0, 0},
      {"two",
       {array("x", METATE_F32, 1, read), array("y", METATE_F32, 1, read | write)},
       METATE_KERNEL_NO_ALIAS},
      {"may_alias", {array("x", METATE_I64, 2, read), array("y", METATE_I64, 2, write)}},
      {"elements", {vectors, image}, METATE_KERNEL_NO_ALIAS, 1},
      {"trees", {tree("f", 0, read), tree("g", 1, activate)}, METATE_KERNEL_NO_ALIAS},
      {"total", {array("x", METATE_F64, 3, read), result}, METATE_KERNEL_HAS_RESULT},
      {"many", many},
      {"pools",
       {array("x", METATE_U16, 8, write)},
       METATE_KERNEL_NO_ALIAS,
       METATE_NONE,
       {{"scratch", METATE_POOL_LAUNCH, 100, 16, 2, {1, 2}}, {"tile", METATE_POOL_WORKER, 40, 64}}},
      {"dims",
       {square, lines},
       METATE_KERNEL_NO_ALIAS,
       METATE_NONE,
       {{"all", METATE_POOL_LAUNCH, 0, 64, 4, {1}, METATE_NONE, "sram"}},
       {{"n", 1, 64, 1, 1}, {"m", 3, 1000, 4, 7}}},
  };
  spec.derivatives = {{3, METATE_DERIVATIVE_REVERSE, 4, 0}, {3, METATE_DERIVATIVE_FORWARD, 5, 0}};
  spec.texts = {{"kernels.py", 12, 1, ""}, {"kernels.py", 34, 5, "x must be positive"}};
  return spec;
}

} // namespace metate::fuzz
