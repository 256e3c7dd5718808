/* stack_nodes.c: see stack_nodes.h. */
#include "stack_nodes.h"

#include "channel/id_map.h"
#include "stack_rows.h"

#include <string.h>

struct thread_stacks {
  struct id_map codes;   /* struct code_copy * */
  struct id_map modules; /* what ITEM_MODULE says */
  struct id_map nodes;   /* node_value */
};
static struct thread_stacks of_thread[THREAD_MAXIMUM]; /* by number, from 1 on */

enum { TRACE_BITS = 20, LEVEL_BITS = 12, OUTSIDE = (1 << TRACE_BITS) - 1 /* in place of a trace */ };
_Static_assert(TRACE_MAXIMUM + SHORT_TRACE_MAXIMUM < OUTSIDE, "a value holds the row");
_Static_assert(STACK_MAXIMUM < 1 << LEVEL_BITS, "a value holds the level");

static uint64_t node_value(struct stack_node node) {
  uint32_t trace = node.is_outside ? (uint32_t)OUTSIDE : node.trace_plus_one;
  return trace | (uint64_t)node.level << TRACE_BITS | (uint64_t)node.module << 32;
}

static struct stack_node node_of(uint64_t value) {
  uint32_t low = (uint32_t)value, trace = low & ((1u << TRACE_BITS) - 1);
  bool is_outside = trace == OUTSIDE;
  return (struct stack_node){is_outside ? 0 : trace, low >> TRACE_BITS, (uint32_t)(value >> 32), is_outside};
}

struct stack_node stack_node(const struct capture_thread *thread, uint32_t number) {
  return node_of(number ? id_value(&of_thread[thread->number - 1].nodes, number) : 0);
}

static void release_code(uint64_t value) { code_copy_free((struct code_copy *)(uintptr_t)value); }

static void take_node(struct recorder *recorder, const struct capture_thread *thread, const struct node_item *item) {
  struct thread_stacks *its = &of_thread[thread->number - 1];
  const struct code_copy *code = (const struct code_copy *)(uintptr_t)id_value(&its->codes, item->code);
  struct stack_node node = stack_node(thread, item->parent); /* the caller's */
  int64_t parent = (int64_t)node.trace_plus_one - 1;
  if (!code || (item->parent && parent < 0 && !node.is_outside)) return; /* ops of this stack have none */
  int64_t row = stack_trace_row(recorder, parent, code, item->offset);
  if (row == TRACE_LOST) return;
  node.is_outside = row == TRACE_OUTSIDE;
  node.trace_plus_one = node.is_outside ? 0 : (uint32_t)row + 1;
  if (item->module) {
    node.module = (uint32_t)id_value(&its->modules, item->module);
    node.level++;
  }
  id_put(&its->nodes, item->head.id, node_value(node));
}

void stack_nodes_item(struct recorder *recorder, const struct channel_item *item) {
  struct thread_stacks *its = &of_thread[item->thread->number - 1];
  const struct item *head = item->item;
  switch (head->kind) {
    case ITEM_CODE:
      id_put(&its->codes, head->id, (uint64_t)(uintptr_t)code_copy_make(recorder, (const struct code_item *)head));
      break;
    case ITEM_MODULE: id_put(&its->modules, head->id, ((const struct module_item *)head)->number); break;
    case ITEM_NODE: take_node(recorder, item->thread, (const struct node_item *)head); break;
    case ITEM_FORGET:
      id_forget(&its->codes, release_code);
      id_forget(&its->modules, NULL);
      id_forget(&its->nodes, NULL);
      break;
  }
}

void stack_nodes_open(void) { memset(of_thread, 0, sizeof of_thread); }

static void clear_stacks(struct thread_stacks *its) {
  id_clear(&its->codes, release_code);
  id_clear(&its->modules, NULL);
  id_clear(&its->nodes, NULL);
}

void stack_nodes_thread_over(struct recorder *recorder, const struct capture_thread *thread) {
  (void)recorder;
  clear_stacks(&of_thread[thread->number - 1]);
}

void stack_nodes_close(void) {
  for (unsigned i = 0; i < THREAD_MAXIMUM; i++) clear_stacks(&of_thread[i]);
}
