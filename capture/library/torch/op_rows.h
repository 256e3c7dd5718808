/* op_rows.h: ops and ranges of all threads become rows of ops. On the writer thread only; see recorder/source.h. */
#ifndef TFPROF_CAPTURE_OP_ROWS_H
#define TFPROF_CAPTURE_OP_ROWS_H

#include "channel/channel_reader.h"
#include "recorder/recorder.h"

enum { OP_ITEMS = 1 << ITEM_OP | 1 << ITEM_NAME | 1 << ITEM_INPUTS | 1 << ITEM_PIN | 1 << ITEM_FORGET };

bool op_rows_open(struct recorder *recorder);
void op_rows_item(struct recorder *recorder, const struct channel_item *item);
void op_rows_thread_over(struct recorder *recorder, const struct capture_thread *thread);
/* The string of a name that the thread has given this number; 0: none. */
uint32_t op_rows_name(const struct capture_thread *thread, uint32_t number);
void op_rows_losses(struct recorder *recorder);
void op_rows_close(bool in_child);

#endif
