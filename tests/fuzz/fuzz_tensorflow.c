/* fuzz_tensorflow.c: any bytes as each of the files of TensorFlow, by itself; every column is read. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "derive/derive.h"
#include "classic/read/tensorflow.h"
#include "read_all.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void open_as(const struct tensorflow_files *files) {
  struct tfprof_error error;
  struct store *store = store_create(derive_passes, derive_pass_count);
  uint32_t run;
  if (!store || store_add_run(store, "fuzz", NULL, &run, &error)) abort();
  if (tensorflow_open(store, run, files, &error)) {
    store_cancel_run(store, run);
  } else {
    store_publish_run(store, run);
    read_all(store);
  }
  store_release(store);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  int fd = memfd_create("fuzz", MFD_CLOEXEC);
  char path[64];
  if (fd < 0) return 0;
  snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
  if (size > 0 && write(fd, data, size) == (ssize_t)size) {
    struct tensorflow_run_meta run_meta = {.path = path, .step = 3};
    open_as(&(struct tensorflow_files){.profile = path});
    open_as(&(struct tensorflow_files){.graph = path});
    open_as(&(struct tensorflow_files){.op_log = path});
    open_as(&(struct tensorflow_files){.run_meta = &run_meta, .run_meta_count = 1});
    open_as(&(struct tensorflow_files){.checkpoint = path});
  }
  close(fd);
  return 0;
}
