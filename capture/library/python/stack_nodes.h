/* stack_nodes.h: what the numbers of stacks stand for that a thread gives (python_frames.h). On the writer thread only.
*/
#ifndef TFPROF_CAPTURE_STACK_NODES_H
#define TFPROF_CAPTURE_STACK_NODES_H

#include "channel/channel_reader.h"

/* The items that tell of stacks. */
enum { STACK_ITEMS = 1 << ITEM_CODE | 1 << ITEM_MODULE | 1 << ITEM_NODE | 1 << ITEM_FORGET };

/* The innermost frame of a stack; without a trace: it is not known, or no frame is the program's. */
struct stack_node {
  uint32_t trace_plus_one; /* row in code_traces */
  uint32_t level;          /* how many modules are on the stack, */
  uint32_t module;         /* and what ITEM_MODULE says of the innermost one */
  bool is_outside;         /* all of it is the recorder's own code: what that calls begins a stack */
};
struct stack_node stack_node(const struct capture_thread *thread, uint32_t number);

void stack_nodes_open(void);
void stack_nodes_item(struct recorder *recorder, const struct channel_item *item);
void stack_nodes_thread_over(struct recorder *recorder, const struct capture_thread *thread);
void stack_nodes_close(void);

#endif
