/* device_rows.h: rows of devices, which all sources share: a device has one, whichever source meets it first.
**
** What is known of a device has to be known when its row is made, since a row is written once. So who can tell of all
** devices of a kind says so in open() (tell_cpu, tell_cuda), and is asked when the first row of theirs is wanted.
** On the writer thread only.
*/
#ifndef TFPROF_CAPTURE_DEVICE_ROWS_H
#define TFPROF_CAPTURE_DEVICE_ROWS_H

#include "row_tables.h"

enum { DEVICES_MAXIMUM = 256 };

/* What a device is. "" and 0: not known. */
struct device_facts {
  char model[128], compute_capability[16];
  char uuid[48], pci_bus[24]; /* GPU-8-4-4-4-12; domain:bus:device.function */
  char given_name[128];       /* by the program */
  int64_t multiprocessors, clock_hz, memory_bytes, memory_bytes_per_second;
};
/* Fills in what it knows of the device of that number, and leaves the rest. Neither blocks nor begins anything. */
typedef void (*device_teller)(int ordinal, struct device_facts *facts);

struct device_rows {
  struct row_buffer rows;
  struct dump_writer *writer;
  char names[DEVICES_MAXIMUM][32]; /* by row */
  device_teller tell_cpu, tell_cuda;
};

bool device_rows_open(struct device_rows *devices, struct row_tables *tables);

/* The row of the device of this name, as frameworks call it ("cuda:0", "cpu"), which is made. `kind` is "cpu", "gpu",
** "tpu" or NULL, `ordinal` its number among those of its kind as the process counts. -1: no memory, or too many. */
int64_t device_row(struct device_rows *devices, const char *name, const char *kind, int ordinal);
/* The row of a CUDA device. */
int64_t device_row_cuda(struct device_rows *devices, int ordinal);

#endif
