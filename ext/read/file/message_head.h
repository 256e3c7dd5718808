/* message_head.h: protobuf messages of which only the first bytes may be there, to recognise files by. */
#ifndef TFPROF_MESSAGE_HEAD_H
#define TFPROF_MESSAGE_HEAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/wire.h"

/* The next field of a message, and *at behind it. Of bytes that go on behind `end` the field has those that are there.
** False: there is none, or it is no field. */
bool message_peek(const uint8_t **at, const uint8_t *end, struct wire_field *field);
/* Whether a field holds bytes that can be a name: some, and none of them a control character. */
bool message_is_name(const struct wire_field *field);

/* A device of a tensorflow.profiler.Trace: {1: name, 2: number, 3: {1: number, 2: resource}}. */
bool is_trace_device(const uint8_t *at, const uint8_t *end);
/* Whether it is such a Trace: the trace events that ProfilerSession.stop() returns, which have no reader. */
bool is_trace_message(const uint8_t *head, size_t length);

#endif
