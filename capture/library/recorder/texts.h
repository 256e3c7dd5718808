/* texts.h: strings of the file for texts of which a program may make ever others, such as the names of its ops, threads
** and functions, the shapes of inputs, lines of source and payloads: all together they are bounded, since they stay in
** the program's memory.  The recorder's own words go to dump_writer_string. On the writer thread only.
*/
#ifndef TFPROF_CAPTURE_TEXTS_H
#define TFPROF_CAPTURE_TEXTS_H

#include "dump/writer.h"
#include "key_map.h"

struct texts {
  struct key_map strings; /* hash of the text to string */
  uint64_t bytes, refused;
};

void texts_end(struct texts *texts);
/* The string of a text; 0: it is a new one and there are too many already. */
uint32_t texts_keep(struct texts *texts, struct dump_writer *writer, const char *text, size_t length);

#endif
