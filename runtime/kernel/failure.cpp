// What a launch that failed says: the texts of exhausted pools and of what a kernel recorded in its
// metate_failure. Nothing here runs in a launch that succeeds.
#include "kernel/kernel.h"

#include "print/format.h"
#include "tree/staged.h"

#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace metate {

namespace {

// A text of bounded length, put together piece by piece.
class Text {
public:
  __attribute__((format(printf, 2, 3))) void add(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    int wrote = vsnprintf(text + used, sizeof text - used, format, arguments);
    va_end(arguments);
    if (wrote > 0)
      used = used + size_t(wrote) < sizeof text ? used + size_t(wrote) : sizeof text - 1;
  }
  const char *get() const { return text; }

private:
  char text[640] = "";
  size_t used = 0;
};

// The sticky status of an argument that is a tree whose cells are activated; of others METATE_OK.
Sticky stickyOf(const metate_kernel &kernel, const metate_argument *arguments, uint32_t index) {
  Sticky sticky;
  if (activates(kernel, index) && readSticky(*arguments[index].value.tree, &sticky) != METATE_OK)
    sticky.status = METATE_OK;
  return sticky;
}

// On a device an append may have added to a length and then found no slot for its chunk, where others took thousands of slots meanwhile
// (metate_view_append_at_once): each list ends with the last chunk that there is.
metate_status mendLists(const metate_tree &tree) {
  bool hasLists = false;
  for (uint32_t pool = 0; pool < tree.type->poolCount(); ++pool)
    hasLists = hasLists || tree.type->poolLevel(pool).kind == METATE_LEVEL_DYNAMIC;
  if (!tree.isElsewhere() || !hasLists)
    return METATE_OK;
  return onHost(tree, Use::changes, [](const Block &block) {
    cutLists(block.view());
    return METATE_OK;
  });
}

metate_status failExhausted(const metate_tree &tree, const Sticky &sticky, const char *who) {
  return failCapacity(*tree.type, tree.pools, sticky.number, sticky.needed, who);
}

// An assert's message, with its values where it has holes for them. A message comes from a module's bytes: what is no hole
// stands as it is.
void addMessage(Text *text, const char *message, const metate_failure &failure, uint32_t rank) {
  uint32_t next = 0;
  while (*message) {
    if (message[0] == message[1] && (*message == '{' || *message == '}')) {
      text->add("%c", *message);
      message += 2;
      continue;
    }
    char *colon = nullptr;
    unsigned long kind = *message == '{' ? strtoul(message + 1, &colon, 10) : 0;
    const char *end = colon && *colon == ':' ? strchr(colon, '}') : nullptr;
    if (!end || next >= 2 * rank || end - colon > 64) {
      text->add("%c", *message++);
      continue;
    }
    char format[64], shown[print::formattedBytes];
    memcpy(format, colon + 1, size_t(end - colon - 1));
    format[end - colon - 1] = 0;
    metate_print_item item{uint32_t(kind), 0, {}};
    item.value.i = (next % 2 ? failure.shape : failure.index)[next / 2];
    ++next;
    text->add("%.*s", int(print::formatItem(item, format, shown) - shown), shown);
    message = end + 1;
  }
}

// "x[10, 3]" or "f.a[10, 3]"
void addAccess(Text *text, const char *what, const metate_failure &failure, uint32_t rank) {
  text->add("%s[", what);
  for (uint32_t k = 0; k < rank; ++k)
    text->add("%s%lld", k ? ", " : "", static_cast<long long>(failure.index[k]));
  text->add("]");
}

// "(8, 8)", "(8,)"; an axis without a bound of its own is a star.
void addShape(Text *text, const metate_failure &failure, uint32_t rank) {
  text->add("(");
  for (uint32_t k = 0; k < rank; ++k) {
    text->add(k ? ", " : "");
    if (failure.shape[k] < 0)
      text->add("*");
    else
      text->add("%lld", static_cast<long long>(failure.shape[k]));
  }
  text->add(rank == 1 ? ",)" : ")");
}

// The exhausted tree that `what` ("f.a") is a member of, else the first one.
metate_status failExhausted(const metate_kernel &kernel, const metate_argument *arguments,
                            const char *what, const char *who) {
  const metate_tree *tree = nullptr;
  Sticky found;
  for (uint32_t i = 0; i < kernel.info->argument_count; ++i) {
    Sticky sticky = stickyOf(kernel, arguments, i);
    if (sticky.status == METATE_OK)
      continue;
    const char *name = kernel.argumentName(i);
    bool isNamed = strncmp(what, name, strlen(name)) == 0 && what[strlen(name)] == '.';
    if (!tree || isNamed) {
      tree = arguments[i].value.tree;
      found = sticky;
    }
    if (isNamed)
      break;
  }
  return tree ? failExhausted(*tree, found, who)
              : fail(METATE_E_CAPACITY, "%sa pool is exhausted", who);
}

} // namespace

bool activates(const metate_kernel &kernel, uint32_t index) {
  return kernel.arguments[index].kind == METATE_ARGUMENT_TREE &&
         (kernel.arguments[index].access & METATE_ACCESS_ACTIVATE);
}

// Of all trees of which a pool was too small.
static metate_status mendAll(const metate_kernel &kernel, const metate_argument *arguments) {
  for (uint32_t i = 0; i < kernel.info->argument_count; ++i)
    if (stickyOf(kernel, arguments, i).status != METATE_OK)
      METATE_TRY(mendLists(*arguments[i].value.tree));
  return METATE_OK;
}

metate_status reportCapacity(const metate_kernel &kernel, const metate_argument *arguments) {
  for (uint32_t i = 0; i < kernel.info->argument_count; ++i) {
    Sticky sticky = stickyOf(kernel, arguments, i);
    if (sticky.status == METATE_OK)
      continue;
    const metate_tree &tree = *arguments[i].value.tree;
    METATE_TRY(mendAll(kernel, arguments));
    char who[128];
    snprintf(who, sizeof who, "kernel '%s' argument %u '%s': ", kernel.name, i,
             kernel.argumentName(i));
    return failExhausted(tree, sticky, who);
  }
  return METATE_OK;
}

metate_status reportFailure(const metate_kernel &kernel, const metate_argument *arguments,
                            const metate_failure &failure) {
  METATE_TRY(mendAll(kernel, arguments));
  if (failure.code > METATE_STATUS_LAST)
    return fail(METATE_E_INTERNAL, "kernel '%s': it recorded the status %u", kernel.name,
                failure.code);
  auto code = metate_status(failure.code);
  uint32_t rank = failure.rank < METATE_MAX_RANK ? failure.rank : METATE_MAX_RANK;
  Text text;
  if (failure.detail && (code != METATE_E_ASSERT || rank == 0))
    return fail(code, "%s", failure.detail);
  if (failure.detail) {
    addMessage(&text, failure.detail, failure, rank);
    return fail(code, "%s", text.get());
  }
  Descriptor descriptor = kernel.description();
  const char *what = "";
  if (failure.text < descriptor.header().texts.count) {
    const metate_text &place = descriptor.texts()[failure.text];
    text.add("%s:%u:%u: ", descriptor.text(place.file), place.line, place.column);
    what = descriptor.text(place.text);
  }
  // A kernel of the graph, not the graph.
  const char *end = strchr(what, METATE_TEXT_KERNEL_END);
  text.add("kernel '%.*s': ", int(end ? size_t(end - what) : strlen(kernel.name)),
           end ? what : kernel.name);
  what = end ? end + 1 : what;
  switch (code) {
  case METATE_E_ASSERT:
    text.add("assertion failed%s", *what ? ": " : "");
    if (rank)
      addMessage(&text, what, failure, rank);
    else
      text.add("%s", what);
    break;
  case METATE_E_OUT_OF_RANGE:
    text.add("index out of range: ");
    addAccess(&text, what, failure, rank);
    text.add(" of shape ");
    addShape(&text, failure, rank);
    break;
  case METATE_E_DIVISION_BY_ZERO:
    text.add("division by zero");
    break;
  case METATE_E_OUT_OF_MEMORY: // of the stack
    text.add("%s", what);
    break;
  case METATE_E_CAPACITY:
    addAccess(&text, what, failure, rank);
    text.add(": ");
    return failExhausted(kernel, arguments, what, text.get());
  default:
    text.add("it stopped with %s%s%s", metate_status_name(int32_t(code)), *what ? ": " : "", what);
  }
  return fail(code, "%s", text.get());
}

} // namespace metate
