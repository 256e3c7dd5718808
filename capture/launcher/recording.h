/* recording.h: what a run directory holds, as far as the closing summary tells it. */
#ifndef TFPROF_LAUNCHER_RECORDING_H
#define TFPROF_LAUNCHER_RECORDING_H

#include "recorded_steps.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum { RECORDING_MAXIMUM_NOTES = 8 };

struct recording_note { /* a diagnostic worth a line: a part that does not record, rows that were lost, damage */
  char reason[64];
  char message[320];
};

struct process_recording {
  char *path;
  char *problem; /* why the file cannot be read; the rest is then 0 */
  char *command, *framework; /* "pytorch 2.13.0"; NULL: none */
  uint32_t pid;
  uint64_t start_ticks; /* of the process; 0: unknown, then it has no other file */
  int32_t rank; /* -1: none */
  uint64_t ops, kernels, dropped, bytes;
  uint64_t window_steps; /* in windows of the framework's own profiler, whose files count in bytes, */
  uint64_t session_runs; /* and runs of sessions that TensorFlow traced, whose file does, too */
  uint64_t ranges; /* of the ops, those that the program marked */
  struct step_counts steps;
  int64_t last_ns;   /* CLOCK_MONOTONIC of the last thing recorded; 0: unknown */
  int64_t gpu_ns;    /* up to which all is there of GPUs; 0: unknown */
  uint64_t gpu_held; /* buffers that CUPTI had then and did not give back */
  char *trigger; /* "slow_step: step 20 took ...": why its last seconds were written; NULL: it is a whole recording */
  bool has_begun, begins_late; /* ops were recorded, or not; steps had ended before that was said first */
  int64_t trigger_ns; /* when that was */
  int64_t kept_ns, kept_after_ns; /* how long before that it begins, and after it ends; 0: unknown */
  bool is_closed;  /* the recording was ended in order */
  bool is_alive;   /* the process still runs, on this machine */
  struct recording_note notes[RECORDING_MAXIMUM_NOTES];
  size_t note_count;
};

struct recording {
  struct process_recording *processes; /* a file each, the one with most ops first */
  size_t process_capacity;
  size_t process_count, distinct_count; /* files; processes, of which one that was asked several times has several */
  uint64_t ops, kernels, ranges, window_steps, session_runs, dropped, bytes;
  struct step_counts steps; /* of the process with most of them */
};

/* Reads every *.tfprof of the directory. false: it cannot be listed (errno) or memory is short. */
bool recording_read(const char *directory, struct recording *recording);
/* Of those alone whose process still writes them; what the others hold is not looked at. */
bool recording_read_alive(const char *directory, struct recording *recording);
/* All of these files. */
bool recording_read_files(const char *const *paths, size_t count, struct recording *recording);
void recording_free(struct recording *recording);

#endif
