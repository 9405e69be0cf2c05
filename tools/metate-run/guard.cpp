// Guard pages, and the signal handler that says whose page was touched. A handler has no argument of ours: the list of guarded
// memory is the one thing of this program that its functions share.
#include "guard.h"

#include "common.h"

#include <csignal>
#include <cstdio>
#include <cstring>
#include <sys/mman.h>
#include <unistd.h>

namespace metate::tool {

namespace {

struct Guarded {
  char name[64];
  const uint8_t *end;
};

// Fixed, so that a handler can read it at any time; of more memory than it has room for the name is not known.
constexpr size_t most = 256;
Guarded guarded[most];
std::mutex guardedLock;

uint64_t pageBytes() { return uint64_t(sysconf(_SC_PAGESIZE)); }

void write(const char *text) {
  if (::write(STDERR_FILENO, text, std::strlen(text)) < 0)
    _exit(1);
}

void onFault(int, siginfo_t *info, void *) {
  const auto *at = static_cast<const uint8_t *>(info->si_addr);
  for (const Guarded &one : guarded)
    if (one.end && at >= one.end && at < one.end + pageBytes()) {
      char number[24];
      std::snprintf(number, sizeof number, "%ld", long(at - one.end));
      for (const char *part : std::initializer_list<const char *>{
               "metate-run: --guard: a kernel touched memory behind the end of ", one.name,
               ", at byte ", number, " behind it\n"})
        write(part);
      _exit(1);
    }
  std::signal(SIGSEGV, SIG_DFL); // it happens again, without us
}

} // namespace

GuardedMemory::GuardedMemory(const std::string &name, uint64_t bytes, uint64_t align) {
  uint64_t page = pageBytes();
  uint64_t room = (bytes + align + page - 1) / page * page;
  if (bytes > room)
    throw Error("--guard: " + name + ": no address space for " + std::to_string(bytes) + " bytes");
  mapped = room + page;
  mapping = mmap(nullptr, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapping == MAP_FAILED)
    throw Error("--guard: " + name + ": the system has no " + std::to_string(bytes) + " bytes");
  uint8_t *end = static_cast<uint8_t *>(mapping) + room;
  mprotect(end, page, PROT_NONE);
  begin = reinterpret_cast<uint8_t *>((reinterpret_cast<uintptr_t>(end) - bytes) &
                                      ~uintptr_t(align - 1));
  std::lock_guard lock(guardedLock);
  for (Guarded &one : guarded)
    if (!one.end) {
      std::snprintf(one.name, sizeof one.name, "%s", name.c_str());
      one.end = end;
      break;
    }
}

GuardedMemory::~GuardedMemory() {
  std::lock_guard lock(guardedLock);
  for (Guarded &one : guarded)
    if (one.end == static_cast<uint8_t *>(mapping) + mapped - pageBytes())
      one.end = nullptr;
  munmap(mapping, mapped);
}

void *GuardedAllocator::allocate(void *self, size_t bytes, size_t align) {
  auto &own = *static_cast<GuardedAllocator *>(self);
  try {
    auto made = std::make_unique<GuardedMemory>("a tree or a pool", bytes, align);
    void *data = made->data();
    std::lock_guard lock(own.lock);
    own.memory[data] = std::move(made);
    return data;
  } catch (const std::exception &) {
    return nullptr;
  }
}

void GuardedAllocator::release(void *self, void *pointer, size_t, size_t) {
  auto &own = *static_cast<GuardedAllocator *>(self);
  std::lock_guard lock(own.lock);
  own.memory.erase(pointer);
}

void watchGuards() {
  struct sigaction action{};
  action.sa_sigaction = onFault;
  action.sa_flags = SA_SIGINFO;
  sigaction(SIGSEGV, &action, nullptr);
}

} // namespace metate::tool
