// Everything the runtime asks of the operating system. Implemented by exactly one file a system;
// nothing else in the runtime includes a system header.
#ifndef METATE_RUNTIME_OS_OS_H
#define METATE_RUNTIME_OS_OS_H

#include "metate/metate.h"

#include <pthread.h>

namespace metate::os {

// Address space whose pages are zero until touched; NULL when the system refuses.
void *reserve(uint64_t bytes);
void release(void *address, uint64_t bytes);
uint64_t pageBytes();
// Of the machine's memory.
uint64_t memoryBytes();
// Bytes of reserve() that are touched here and there: huge pages would make all of them resident.
void keepPagesSmall(void *address, uint64_t bytes);
// Gives the whole pages inside of these bytes back. What they held is lost: pages of reserve() are
// zero again, others hold anything. False where the system keeps them.
bool discard(void *address, uint64_t bytes);
// What is left under the process's address-space limit; UINT64_MAX without a limit.
uint64_t addressSpaceLeft();

// The allocator of a device without hooks.
void *allocate(void *self, size_t bytes, size_t align);
void deallocate(void *self, void *pointer, size_t bytes, size_t align);

// A whole file, read into memory of `allocator`. Read and not mapped: a file that another process
// changes after it was verified must not change under us.
metate_status readFile(const metate_allocator &allocator, const char *path, uint8_t **data,
                       uint64_t *bytes);

// A new file of this size, mapped to be written; release() unmaps it. Its space is taken at once:
// a full disk is an error here, not a signal later.
metate_status createFile(const char *path, uint64_t bytes, uint8_t **data);
// A whole file, mapped to be read.
metate_status mapFile(const char *path, uint8_t **data, uint64_t *bytes);
// Gives a file another name, in place of one that has it.
metate_status renameFile(const char *from, const char *to);
void removeFile(const char *path);

// A shared object given as bytes, loaded by the system's loader from a sealed anonymous file.
struct SharedObject {
  void *handle = nullptr;
  int file = -1;
};
metate_status load(const void *bytes, uint64_t count, SharedObject *object);
void *symbol(const SharedObject &object, const char *name);
void unload(SharedObject *object);
// Nanoseconds of a clock that only goes forward.
uint64_t now();

// Whether the process, with what it was started with, has a symbol of that name.
bool hasSymbol(const char *name);

class Mutex {
public:
  // recursive: the thread that holds it may lock it again.
  explicit Mutex(bool recursive = false) {
    pthread_mutexattr_t attributes;
    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_settype(&attributes,
                              recursive ? PTHREAD_MUTEX_RECURSIVE : PTHREAD_MUTEX_DEFAULT);
    pthread_mutex_init(&mutex, &attributes);
    pthread_mutexattr_destroy(&attributes);
  }
  ~Mutex() { pthread_mutex_destroy(&mutex); }
  Mutex(const Mutex &) = delete;
  Mutex &operator=(const Mutex &) = delete;
  void lock() { pthread_mutex_lock(&mutex); }
  void unlock() { pthread_mutex_unlock(&mutex); }

private:
  pthread_mutex_t mutex;
};

class Lock {
public:
  explicit Lock(Mutex &mutex) : mutex(mutex) { mutex.lock(); }
  ~Lock() { mutex.unlock(); }
  Lock(const Lock &) = delete;
  Lock &operator=(const Lock &) = delete;

private:
  Mutex &mutex;
};

} // namespace metate::os

#endif
