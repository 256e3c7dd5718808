/* graph_links.h: which call has launched what a CUDA graph does, where CUPTI may tell a wrong one.
**
** CUPTI before that of CUDA 13.1 Update 1 gives "incorrect correlation IDs for cudaGraphLaunch API calls and their
** associated kernel launches in profiling sessions after the first" (NVIDIA's release notes).  What begins a session
** they do not say: its headers call so what follows cuptiSubscribe, and it may be enough that kinds are switched off
** and on.  So from the second time on that kinds are switched on, whichever way, the records decide: a number holds
** that is one of a launch of a graph which has a record, and began before, and that the same node of a graph did not
** have before.  All other work of graphs has no call, which is counted.  Of a CUPTI that tells right ones all hold.
**
** Which of two records comes first is CUPTI's affair: work whose call is not known waits for it, for a second or two.
** On the writer thread only.
*/
#ifndef TFPROF_CAPTURE_GRAPH_LINKS_H
#define TFPROF_CAPTURE_GRAPH_LINKS_H

#include "cupti_layout.h"

#include <stdbool.h>
#include <stddef.h>

/* Work of a graph. */
struct graph_work {
  uint64_t node;
  uint64_t correlation;
  int64_t start_ns;
};

enum graph_link { LINK_HOLDS, LINK_WAITS, LINK_IS_WRONG };

void graph_links_begin(void);
void graph_links_end(void);
/* A call that launches a graph began then. */
void graph_links_note_launch(uint64_t correlation, int64_t start_ns);
/* Once for each work, whatever is believed: whether its node had that number before. */
bool graph_links_is_repeated(const struct graph_work *work);
/* What is known now of the call. */
enum graph_link graph_links_judge(const struct graph_work *work);

/* Work that waits. */
struct held_work {
  union {
    struct cupti_record record;
    struct cupti_kernel kernel;
    struct cupti_memcpy memcpy;
    struct cupti_memcpy_peers peers;
    struct cupti_memset memset;
    struct cupti_graph_trace graph;
  } as;
  size_t bytes;
  struct graph_work work;
  bool is_old;
};
/* A copy of it; false: there is no room. */
bool graph_links_hold(const struct held_work *work);
/* Whether launches have come while work waits. */
bool graph_links_have_news(void);
/* Takes one that waits from place *at on (0 at first) and whose call is known by now, or that has waited for long
** enough: with `is_all` any has, with `is_due` those that did when it was asked for the last time with it. Until there
** is none: false. */
bool graph_links_take(unsigned *at, bool is_due, bool is_all, struct held_work *taken, enum graph_link *link);

#endif
