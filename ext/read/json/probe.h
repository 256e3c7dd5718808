/* probe.h: see probe.c. */
#ifndef TFPROF_JSON_PROBE_H
#define TFPROF_JSON_PROBE_H

#include <stddef.h>
#include <stdint.h>

/* How sure it is that the file, which begins with `head` (decompressed), is a trace in JSON; as read_format.probe. */
int json_probe(const char *path, const uint8_t *head, size_t length);

#endif
