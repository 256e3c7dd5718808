/* python_source.c: see python_source.h. */
#include "python_source.h"

#include "channel/thread_record.h"
#include "python_layout.h"
#include "typed_sources.h"

static void python_enter_thread(struct capture_thread *thread) {
  thread->python_state = python_thread_state ? python_thread_state() : NULL;
}

const struct capture_source python_source = {
    .name = "python",
    .locks = (const struct fork_lock[]){{.lock = &typed_sources_lock}, {0}},
    .enter_thread = python_enter_thread,
    .stop = typed_sources_stop,
    .reset = typed_sources_reset,
};
