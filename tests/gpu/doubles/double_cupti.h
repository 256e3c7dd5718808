/* double_cupti.h: a libcupti for tests: the functions that tfprof calls, with the records of a version of CUPTI
** (cupti_layout.h, which is compared with NVIDIA's headers in test_cupti_layouts.py).  What is recorded is played by
** the test: records are put, and go the way that CUPTI's go: into buffers that are asked for, one after the other for
** each thread, given back when they are full or fetched.
**
** What goes wrong is asked for by variables: DOUBLE_HOLDER=NAME (another one listens), DOUBLE_SUBSCRIBE=RESULT,
** DOUBLE_REFUSED=KIND or KIND:RESULT (it cannot be recorded),
** DOUBLE_REFUSED_LATENCY=1, DOUBLE_REFUSED_COUNTERS=DEVICE (of that device
** unified memory is not counted), DOUBLE_DROPPED=COUNT (so many records were lost by CUPTI itself),
** DOUBLE_TOLD_VERSION=NUMBER (it says that it is another one, with the same records),
** DOUBLE_MUTE=KIND (it can be switched on, and nothing comes of it),
** DOUBLE_MUTE_CALL=NUMBER (the same of a function of the driver),
** DOUBLE_CLOCK=fixed (CUPTI cannot be told what to keep time by) or hidden (cuptiGetTimestamp does not follow),
** DOUBLE_HEADS=1 (each time that it is told again the first kernels have times of its own clock, one more each time),
** DOUBLE_LATCH=1 (the clock at which one subscribes, once there is a context, is that of the work of devices),
** DOUBLE_LATE=MS (buffers are given back so long after a forced flush has returned, to whoever is registered then),
** DOUBLE_RUNS=MS (so long each kernel runs: its buffer does not come back before, and without its end where it must),
** DOUBLE_EAGER=1 (it asks for a buffer as soon as it has given one back),
** DOUBLE_BUSY=1 (the device is never idle: only full buffers come back before the end),
** DOUBLE_HANG=1 (the device does not answer any more: the last fetch never returns).
*/
#ifndef TFPROF_DOUBLE_CUPTI_H
#define TFPROF_DOUBLE_CUPTI_H

#include "cuda/cupti_layout.h"

/* For the test, found by dlsym in the library. */
struct double_cupti {
  uint32_t version;
  /* Whether records of this kind are recorded; of calls, of that function. */
  bool (*is_on)(uint32_t kind, uint32_t function);
  /* Records `bytes` of a record, as long as those of its kind are; false: there was no buffer. */
  bool (*put)(const void *record, size_t bytes);
  uint32_t (*next_correlation)(void);
  uint64_t (*now)(void);
  /* CUPTI's clock is set by so much; numbers of calls go on from there. */
  void (*set_clock)(int64_t by_ns);
  void (*set_correlation)(uint32_t to);
  /* The thread's buffer is given back as it is. */
  void (*give_back)(void);
  /* The last `count` bytes of what the thread has written are cut off. */
  void (*cut)(size_t count);
  /* By how many buffers each sort was asked for, and how many came back. */
  uint64_t (*lent)(void), (*returned)(void);
  /* Buffers that cannot be come back: none at all, one that was never asked for, an empty one, one that says it holds
  ** more than it has room for and is empty, one of them twice. */
  void (*give_odd_back)(void);
  /* A callback of CUPTI's runs on this thread from now on: it has what it has locked. */
  void (*begin_callback)(void);
  /* Whether that counter of unified memory is on. */
  bool (*counts)(uint32_t kind, uint32_t device);
  /* Whether kernels tell when they were queued and submitted. */
  bool (*has_latency)(void);
  /* Who listens (DOUBLE_HOLDER) no longer does. */
  void (*holder_leaves)(void);
  /* CUPTI is told to keep time by a counter of 2.6 ticks a nanosecond, as torch.profiler does. */
  void (*keep_ticks)(void);
  /* Another one in the process registers buffers of its own, and all is recorded into them, and what comes back of
  ** others' is nobody's; once more: it leaves, and has switched all kinds off. */
  void (*steal)(void);
  /* The device falls off the bus: whatever CUPTI is asked fails from then on. */
  void (*fall)(void);
  /* Another one finalises CUPTI and subscribes itself, and stays. */
  void (*replace)(void);
};
extern const struct double_cupti double_cupti;

/* Numbers of functions: those of NVIDIA's. */
enum double_function {
  DOUBLE_DRIVER_GET_VERSION = 2,
  DOUBLE_GET_DEVICE = 17,
  DOUBLE_MALLOC = 20,
  DOUBLE_MEMCPY_ASYNC = 41,
  DOUBLE_MEMSET_ASYNC = 51,
  DOUBLE_EVENT_RECORD = 135,
  DOUBLE_STREAM_SYNCHRONIZE = 131,
  DOUBLE_DEVICE_RESET = 164,
  DOUBLE_DEVICE_SYNCHRONIZE = 165,
  DOUBLE_LAUNCH_KERNEL = 211,
  DOUBLE_GRAPH_LAUNCH = 311,
  DOUBLE_DRIVER_LAUNCH = 307,
};
/* Of a kind that no CUPTI has yet, and its length. */
enum { DOUBLE_UNKNOWN_KIND = 63, DOUBLE_UNKNOWN_BYTES = 32 };

#endif
