// Linux. The only file of the runtime that calls the system.
#include "os/os.h"

#include "support/status.h"

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

namespace metate::os {

static constexpr size_t hugePage = 2 << 20;

void *reserve(uint64_t bytes) {
  void *address = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (address == MAP_FAILED)
    return nullptr;
  // Advice only: a system without huge pages says no and nothing changes.
  madvise(address, bytes, MADV_HUGEPAGE);
  return address;
}

void release(void *address, uint64_t bytes) { munmap(address, bytes); }

uint64_t pageBytes() { return uint64_t(sysconf(_SC_PAGESIZE)); }

uint64_t memoryBytes() { return uint64_t(sysconf(_SC_PHYS_PAGES)) * pageBytes(); }

uint64_t addressSpaceLeft() {
  rlimit limit;
  if (getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY)
    return UINT64_MAX;
  uint64_t used = 0;
  if (FILE *file = fopen("/proc/self/statm", "re")) {
    unsigned long long pages = 0;
    if (fscanf(file, "%llu", &pages) == 1)
      used = pages * pageBytes();
    fclose(file);
  }
  return limit.rlim_cur > used ? limit.rlim_cur - used : 0;
}

void *allocate(void *, size_t bytes, size_t align) {
  void *pointer = nullptr;
  if (align < sizeof(void *))
    align = sizeof(void *);
  // Memory of that size is new in each launch that plans it: a fault for each small page costs more than what is written there.
  bool isLarge = bytes >= 8 * hugePage;
  if (isLarge && align < hugePage)
    align = hugePage;
  if (posix_memalign(&pointer, align, bytes ? bytes : 1) != 0)
    return nullptr;
  if (isLarge)
    madvise(pointer, bytes, MADV_HUGEPAGE); // advice only
  return pointer;
}

void deallocate(void *, void *pointer, size_t, size_t) { free(pointer); }

void keepPagesSmall(void *address, uint64_t bytes) {
  uint64_t page = pageBytes(), begin = reinterpret_cast<uintptr_t>(address), end = begin + bytes;
  begin = begin / page * page;
  madvise(reinterpret_cast<void *>(begin), end - begin, MADV_NOHUGEPAGE);
}

bool discard(void *address, uint64_t bytes) {
  uint64_t page = pageBytes(), begin = reinterpret_cast<uintptr_t>(address), end = begin + bytes;
  begin = (begin + page - 1) / page * page;
  end = end / page * page;
  return begin >= end || madvise(reinterpret_cast<void *>(begin), end - begin, MADV_DONTNEED) == 0;
}

static metate_status failIo(const char *what, const char *path) {
  // strerror's text belongs to the thread in glibc and musl.
  return fail(METATE_E_IO, "cannot %s '%s': %s", what, path, strerror(errno));
}

static bool readAll(int file, uint8_t *to, uint64_t bytes) {
  while (bytes) {
    ssize_t got = read(file, to, bytes);
    if (got < 0 && errno == EINTR)
      continue;
    if (got <= 0) {
      if (got == 0)
        errno = EIO; // it shrank while being read
      return false;
    }
    to += got;
    bytes -= uint64_t(got);
  }
  return true;
}

metate_status readFile(const metate_allocator &allocator, const char *path, uint8_t **data,
                       uint64_t *bytes) {
  int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0)
    return failIo("open", path);
  struct stat about;
  metate_status status = METATE_OK;
  if (fstat(file, &about) != 0)
    status = failIo("read", path);
  else if (!S_ISREG(about.st_mode))
    status = fail(METATE_E_IO, "cannot read '%s': not a regular file", path);
  uint8_t *buffer = nullptr;
  uint64_t size = status == METATE_OK ? uint64_t(about.st_size) : 0;
  if (status == METATE_OK) {
    buffer = static_cast<uint8_t *>(allocator.allocate(allocator.self, size ? size : 1, 64));
    if (!buffer)
      status = fail(METATE_E_OUT_OF_MEMORY, "no memory for the %llu bytes of '%s'",
                    static_cast<unsigned long long>(size), path);
    else if (!readAll(file, buffer, size)) {
      status = failIo("read", path);
      allocator.release(allocator.self, buffer, size ? size : 1, 64);
    }
  }
  close(file);
  METATE_TRY(status);
  *data = buffer;
  *bytes = size;
  return METATE_OK;
}

static bool writeAll(int file, const uint8_t *from, uint64_t bytes) {
  while (bytes) {
    ssize_t put = write(file, from, bytes);
    if (put < 0 && errno == EINTR)
      continue;
    if (put <= 0)
      return false;
    from += put;
    bytes -= uint64_t(put);
  }
  return true;
}

// Maps an open file and closes it.
static metate_status mapAndClose(int file, const char *path, uint64_t bytes, int protection,
                                 int flags, uint8_t **data) {
  void *address = mmap(nullptr, bytes, protection, flags, file, 0);
  metate_status status = address == MAP_FAILED ? failIo("map", path) : METATE_OK;
  close(file);
  if (status == METATE_OK)
    *data = static_cast<uint8_t *>(address);
  return status;
}

metate_status createFile(const char *path, uint64_t bytes, uint8_t **data) {
  int file = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (file < 0)
    return failIo("create", path);
  errno = posix_fallocate(file, 0, off_t(bytes));
  if (errno) {
    metate_status status = failIo("write", path);
    close(file);
    unlink(path);
    return status;
  }
  return mapAndClose(file, path, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, data);
}

metate_status mapFile(const char *path, uint8_t **data, uint64_t *bytes) {
  int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0)
    return failIo("open", path);
  struct stat about;
  metate_status status = METATE_OK;
  if (fstat(file, &about) != 0)
    status = failIo("read", path);
  else if (!S_ISREG(about.st_mode) || about.st_size <= 0)
    status = fail(METATE_E_IO, "cannot read '%s': not a regular file, or empty", path);
  if (status != METATE_OK) {
    close(file);
    return status;
  }
  *bytes = uint64_t(about.st_size);
  return mapAndClose(file, path, *bytes, PROT_READ, MAP_PRIVATE, data);
}

metate_status renameFile(const char *from, const char *to) {
  return rename(from, to) == 0 ? METATE_OK : failIo("write", to);
}

void removeFile(const char *path) { unlink(path); }

metate_status load(const void *bytes, uint64_t count, SharedObject *object) {
  int file = memfd_create("metate-payload", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  if (file < 0)
    return fail(METATE_E_UNSUPPORTED, "cannot make an anonymous file for the code: %s",
                strerror(errno));
  if (!writeAll(file, static_cast<const uint8_t *>(bytes), count) ||
      fcntl(file, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL) != 0) {
    metate_status status = fail(METATE_E_IO, "cannot copy the code: %s", strerror(errno));
    close(file);
    return status;
  }
  // The file stays open as long as the code: the loader compares names first, and a reused
  // descriptor number would make it hand out the code that was loaded under it before.
  // The process is named by its number: debuggers and symbolizers, which are processes of their own,
  // read the code's symbols under that path.
  char self[32] = "self", path[64];
  ssize_t length = readlink("/proc/self", self, sizeof self - 1);
  if (length > 0)
    self[length] = 0;
  snprintf(path, sizeof path, "/proc/%s/fd/%d", self, file);
  void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (!handle) {
    const char *reason = dlerror();
    metate_status status = fail(METATE_E_UNSUPPORTED, "the system's loader refused the code: %s",
                                reason ? reason : "unknown reason");
    close(file);
    return status;
  }
  object->handle = handle;
  object->file = file;
  return METATE_OK;
}

uint64_t now() {
  timespec time{};
  clock_gettime(CLOCK_MONOTONIC, &time);
  return uint64_t(time.tv_sec) * 1000000000u + uint64_t(time.tv_nsec);
}

void *symbol(const SharedObject &object, const char *name) { return dlsym(object.handle, name); }

void unload(SharedObject *object) {
  if (object->handle)
    dlclose(object->handle);
  if (object->file >= 0)
    close(object->file);
  *object = SharedObject();
}

bool hasSymbol(const char *name) { return dlsym(RTLD_DEFAULT, name) != nullptr; }

} // namespace metate::os
