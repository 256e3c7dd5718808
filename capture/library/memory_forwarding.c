/* memory_forwarding.c: the table of pieces that the user's profiler was told of (see memory_forwarding.h). */
#include "memory_forwarding.h"

#include "torch_api.h"

#include <dlfcn.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct torch_memory_functions torch_memory;

/* Open addressing; a removed piece is closed up by moving back those behind it. */
struct piece {
  uintptr_t address; /* 0: free */
  int64_t bytes;
};
static struct piece *pieces;
static size_t mask, used;
static size_t told_bytes; /* what the allocator's total would be */
static atomic_flag guard = ATOMIC_FLAG_INIT;

bool memory_find(char *reason, size_t size) {
  void *library = torch_open_loaded("/libc10.so", &torch_memory.begin, &torch_memory.end);
  if (!library) {
    snprintf(reason, size, "libc10.so is not loaded");
    return false;
  }
  const struct {
    void *target;
    const char *symbol;
  } wanted[] = {
      {&torch_memory.is_enabled, "_ZN3c1022memoryProfilingEnabledEv"},
      {&torch_memory.report, "_ZN3c1027reportMemoryUsageToProfilerEPvlmmNS_6DeviceE"},
      {&torch_memory.report_failure, "_ZN3c1027reportOutOfMemoryToProfilerElmmNS_6DeviceE"},
  };
  void *found[3];
  for (int i = 0; i < 3; i++) {
    found[i] = dlsym(library, wanted[i].symbol);
    if (!found[i]) {
      snprintf(reason, size, "this PyTorch does not have %s", wanted[i].symbol);
      return false;
    }
  }
  for (int i = 0; i < 3; i++) memcpy(wanted[i].target, &found[i], sizeof found[i]);
  return true;
}

static void lock(void) {
  while (atomic_flag_test_and_set_explicit(&guard, memory_order_acquire)) continue;
}
static void unlock(void) { atomic_flag_clear_explicit(&guard, memory_order_release); }

void memory_forwarding_reset(void) { unlock(); }

static size_t home_of(uintptr_t address) { return (size_t)((address >> 4) * 0x9e3779b97f4a7c15u >> 20); }

static struct piece *find(uintptr_t address) {
  size_t place = home_of(address);
  while (pieces[place & mask].address && pieces[place & mask].address != address) place++;
  return &pieces[place & mask];
}

static bool grow(void) {
  size_t old_count = pieces ? mask + 1 : 0, count = old_count ? old_count * 2 : 1024;
  struct piece *old = pieces, *grown = calloc(count, sizeof *grown);
  if (!grown) return false;
  pieces = grown;
  mask = count - 1;
  for (size_t i = 0; i < old_count; i++)
    if (old[i].address) *find(old[i].address) = old[i];
  free(old);
  return true;
}

static void put(uintptr_t address, int64_t bytes) {
  if ((!pieces || used * 2 > mask) && !grow()) return; /* its release will not be told */
  struct piece *piece = find(address);
  if (!piece->address) used++;
  *piece = (struct piece){address, bytes};
}

/* The size of the piece, which is taken out; 0: it is not there. */
static int64_t take(uintptr_t address) {
  struct piece *piece = pieces ? find(address) : NULL;
  if (!piece || !piece->address) return 0;
  int64_t bytes = piece->bytes;
  size_t hole = (size_t)(piece - pieces);
  for (size_t place = hole + 1; pieces[place & mask].address; place++) {
    if (((place - home_of(pieces[place & mask].address)) & mask) < ((place - hole) & mask)) continue;
    pieces[hole & mask] = pieces[place & mask];
    hole = place;
  }
  pieces[hole & mask].address = 0;
  used--;
  return bytes;
}

void memory_forward_cpu(void *address, int64_t bytes, struct torch_device device) {
  lock();
  if (bytes > 0)
    put((uintptr_t)address, bytes);
  else
    bytes = -take((uintptr_t)address);
  told_bytes += (size_t)bytes;
  size_t in_use = told_bytes;
  unlock();
  if (bytes) torch_memory.report(address, bytes, in_use, 0, device);
}

void memory_forward_cpu_failure(int64_t bytes, struct torch_device device) {
  lock();
  size_t in_use = told_bytes;
  unlock();
  torch_memory.report_failure(bytes, in_use, 0, device);
}
