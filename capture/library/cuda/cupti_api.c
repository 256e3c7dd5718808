/* cupti_api.c: see cupti_api.h. */
#include "cupti_api.h"

#include "host/cuda_driver.h"

#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const struct {
  int major; /* of CUDA; 0: of any */
  const char *file;
} libraries[] = {
    {13, "libcupti.so.13"},   {12, "libcupti.so.12"},   {11, "libcupti.so.11.8"}, {11, "libcupti.so.11.7"},
    {11, "libcupti.so.11.6"}, {11, "libcupti.so.11.5"}, {11, "libcupti.so.11.4"}, {0, "libcupti.so"},
};
enum { LIBRARIES = sizeof libraries / sizeof *libraries };

struct found_library {
  void *handle;
  const char *files[LIBRARIES]; /* in the order in which they are tried */
  char error[256];              /* why one that is there could not be loaded */
};

static bool load_library(struct found_library *found, const char *path) {
  if (!found->handle) found->handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  const char *error = found->handle ? NULL : dlerror();
  if (error && path[0] == '/') snprintf(found->error, sizeof found->error, "%s", error);
  return found->handle != NULL;
}

/* Whichever of its names is in the directory. */
static bool load_from(struct found_library *found, const char *directory, size_t length, const char *below) {
  char path[1024];
  for (unsigned i = 0; i < LIBRARIES && !found->handle; i++) {
    snprintf(path, sizeof path, "%.*s%s/%s", (int)length, directory, below, found->files[i]);
    if (!access(path, R_OK) && load_library(found, path)) return true;
  }
  return found->handle != NULL;
}

/* The directories of the CUDA runtimes and of the PyTorch that are loaded. Libraries are loaded after the list was gone
** through, for it is locked meanwhile. */
struct directories {
  char paths[8][512];
  unsigned count;
  int major; /* of CUDA, by the name of its runtime: libcudart.so.12, or in older wheels libcudart-0a1b2c3d.so.11.0 */
};

static int note_directory(struct dl_phdr_info *info, size_t size, void *context) {
  struct directories *found = context;
  (void)size;
  const char *name = info->dlpi_name, *file = name ? strrchr(name, '/') : NULL;
  bool is_one = file && (!strncmp(file, "/libcudart", 10) || !strncmp(file, "/libtorch_cuda", 14) ||
                         !strncmp(file, "/libc10_cuda", 12));
  const char *number = is_one && !strncmp(file, "/libcudart", 10) ? strstr(file, ".so.") : NULL;
  if (number) found->major = atoi(number + 4);
  if (is_one && found->count < sizeof found->paths / sizeof *found->paths)
    snprintf(found->paths[found->count++], sizeof *found->paths, "%.*s", (int)(file - name), name);
  return 0;
}

/* There and beside: of a toolkit (lib64, extras/CUPTI/lib64), of NVIDIA's wheels (nvidia/cuda_runtime/lib and
** nvidia/cuda_cupti/lib up to 12, nvidia/cu13/lib for both since), of PyTorch (torch/lib). */
static void look_beside(struct found_library *found, const struct directories *directories) {
  static const char *const below[] = {"", "/../extras/CUPTI/lib64", "/../../cuda_cupti/lib", "/../../nvidia/cu13/lib",
                                      "/../../nvidia/cuda_cupti/lib"};
  for (unsigned at = 0; at < directories->count; at++)
    for (size_t i = 0; i < sizeof below / sizeof *below && !found->handle; i++)
      load_from(found, directories->paths[at], strlen(directories->paths[at]), below[i]);
}

static int driver_major(void) {
  struct cuda_driver driver = {0};
  int version = 0;
  bool is_told = cuda_driver_find(&driver) && driver.DriverGetVersion && !driver.DriverGetVersion(&version);
  return is_told ? version / 1000 : 0;
}

/* Those of that CUDA first, then older ones, which a driver bears, then newer ones. */
static void order_files(struct found_library *found, int major) {
  unsigned count = 0;
  for (int round = 0; round < 3; round++)
    for (unsigned i = 0; i < LIBRARIES; i++) {
      bool is_it = libraries[i].major == major, is_older = libraries[i].major < major;
      if (round == (is_it ? 0 : is_older ? 1 : 2)) found->files[count++] = libraries[i].file;
    }
}

/* TFPROF_CUPTI names the library or the directory that it is in: no other is looked for. */
static bool find_named(struct found_library *found, const char *path) {
  struct stat facts;
  if (!stat(path, &facts) && S_ISDIR(facts.st_mode)) return load_from(found, path, strlen(path), "");
  if (!load_library(found, path) && !found->error[0]) snprintf(found->error, sizeof found->error, "%s", path);
  return found->handle != NULL;
}

static bool find_library(struct found_library *found) {
  static const char *const variables[] = {"CUDA_HOME", "CUDA_PATH"};
  struct directories directories = {.count = 0};
  dl_iterate_phdr(note_directory, &directories);
  order_files(found, directories.major ? directories.major : driver_major());
  const char *named = getenv("TFPROF_CUPTI");
  if (named && *named) return find_named(found, named);
  for (unsigned i = 0; i < LIBRARIES && !found->handle; i++)
    found->handle = dlopen(found->files[i], RTLD_NOW | RTLD_NOLOAD);
  look_beside(found, &directories);
  for (size_t i = 0; i < sizeof variables / sizeof *variables && !found->handle; i++) {
    const char *home = getenv(variables[i]);
    if (!home || !*home) continue;
    if (!load_from(found, home, strlen(home), "/extras/CUPTI/lib64")) load_from(found, home, strlen(home), "/lib64");
  }
  for (unsigned i = 0; i < LIBRARIES && !found->handle; i++) load_library(found, found->files[i]);
  if (!found->handle) load_from(found, "/usr/local/cuda", 15, "/extras/CUPTI/lib64");
  return found->handle != NULL;
}

static bool find_functions(struct cupti_api *api, void *handle, char *reason, size_t size) {
  const char *missing = NULL;
  void *symbol;
  /* ISO C has no conversion of an object's pointer to a function's; POSIX has. */
#define FIND(function) \
  symbol = dlsym(handle, "cupti" #function); \
  memcpy(&api->function, &symbol, sizeof symbol)
#define NEED(function) \
  FIND(function); \
  if (!symbol) missing = "cupti" #function
  NEED(GetVersion);
  NEED(GetTimestamp);
  NEED(GetResultString);
  NEED(Subscribe);
  NEED(Unsubscribe);
  NEED(ActivityRegisterCallbacks);
  NEED(ActivityEnable);
  NEED(ActivityDisable);
  NEED(ActivityFlushAll);
  NEED(ActivityGetNextRecord);
  NEED(ActivityGetNumDroppedRecords);
  NEED(GetCallbackName);
  NEED(SetThreadIdType);
  FIND(Subscribe_v2);
  FIND(ActivityEnableRuntimeApi);
  FIND(ActivityEnableDriverApi);
  FIND(ActivityRegisterTimestampCallback);
  FIND(ActivityConfigureUnifiedMemoryCounter);
  FIND(ActivityEnableLatencyTimestamps);
  FIND(GetThreadIdType);
  FIND(GetContextId);
  FIND(GetStreamIdEx);
#undef NEED
#undef FIND
  struct link_map *map;
  if (!dlinfo(handle, RTLD_DI_LINKMAP, &map)) snprintf(api->path, sizeof api->path, "%s", map->l_name);
  if (missing) snprintf(reason, size, "%s has no %s; use that of CUDA 11.4 or newer", api->path, missing);
  return !missing;
}

bool cupti_find(struct cupti_api *api, char *reason, size_t size) {
  struct found_library found = {0};
  char version[CUPTI_VERSION_TEXT];
  if (api->layout) return true;
  memset(api, 0, sizeof *api);
  if (!find_library(&found)) {
    if (found.error[0]) snprintf(reason, size, "CUPTI cannot be loaded: %s", found.error);
    else
      snprintf(reason, size,
               "CUPTI (libcupti.so) was not found: it comes with the CUDA toolkit (CUDA_HOME) and with pip install "
               "nvidia-cuda-cupti (nvidia-cuda-cupti-cu12 for CUDA 12); TFPROF_CUPTI names another place");
    return false;
  }
  if (!find_functions(api, found.handle, reason, size)) return false;
  int result = api->GetVersion(&api->version);
  if (!result) api->layout = cupti_layout_of(api->version);
  if (result)
    snprintf(reason, size, "%.160s answers %.60s (%d) when it is asked for its version", api->path,
             cupti_result_text(api, result), result);
  else if (!api->layout)
    snprintf(reason, size, "%.160s is %s; that of CUDA 11.4 or newer is needed", api->path,
             cupti_version_text(api->version, version));
  return api->layout != NULL;
}

/* Up to 12.9 CUPTI counts its versions by one (<cupti_version.h>), since then as 10000 * major + 100 * minor. */
const char *cupti_version_text(uint32_t version, char text[CUPTI_VERSION_TEXT]) {
  static const struct {
    uint32_t version;
    const char *toolkit;
  } counted[] = {{15, "11.4"}, {16, "11.5"}, {17, "11.6"}, {18, "11.8 to 12.1"}, {19, "12.0"},
                 {20, "12.2"}, {21, "12.3"}, {22, "12.4"}, {23, "12.5"},         {24, "12.6"},
                 {26, "12.8"}, {27, "12.9"}, {28, "12.9"}};
  size_t at = sizeof counted / sizeof *counted;
  while (at && counted[at - 1].version > version) at--;
  if (version >= 10000) {
    snprintf(text, CUPTI_VERSION_TEXT, "CUPTI of CUDA %u.%u (version %u)", version / 10000, version / 100 % 100,
             version);
  } else if (version < counted[0].version) {
    snprintf(text, CUPTI_VERSION_TEXT, "CUPTI of before CUDA 11.4 (version %u)", version);
  } else if (at && counted[at - 1].version == version) {
    snprintf(text, CUPTI_VERSION_TEXT, "CUPTI of CUDA %s (version %u)", counted[at - 1].toolkit, version);
  } else {
    snprintf(text, CUPTI_VERSION_TEXT, "CUPTI version %u", version);
  }
  return text;
}

const char *cupti_result_text(const struct cupti_api *api, int result) {
  const char *text = NULL;
  return !api->GetResultString(result, &text) && text ? text : "an error that this CUPTI has no name for";
}
