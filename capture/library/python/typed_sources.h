/* typed_sources.h: the text of source that lies in no file: cells of notebooks, what is typed at a prompt.
**
** Python keeps such text in linecache, by the name that the code objects have instead of a file.  Reading it takes the
** GIL, which the writer thread never does.  So names are asked for: the writer wants a name, and the hook's function,
** called on a thread of its own (python_worker.h), takes the names and tells their texts.  What is there already when
** recording begins, and at the end, is told without being asked for.
**
** A name is asked for once and its text kept for as long as the process lives, at most so many of both.
*/
#ifndef TFPROF_CAPTURE_TYPED_SOURCES_H
#define TFPROF_CAPTURE_TYPED_SOURCES_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct typed_source; /* a name, and what is known of it; lives as long as the process */

/* ---- By the writer thread. */

/* The source of this name, which is asked for when it is not known; NULL: nobody can be asked, or there are too
** many. */
const struct typed_source *typed_source(const char *name);
/* There is an answer, though maybe without a text. */
bool typed_source_is_told(const struct typed_source *source);
/* Asked for a moment ago and not told yet. */
bool typed_source_is_awaited(const struct typed_source *source);
/* The text of the whole source, or NULL; it does not change any more once it is there. */
const char *typed_source_text(const struct typed_source *source, size_t *length);
/* The number of the cell of a notebook; 0: it is none, or not known. */
int32_t typed_source_cell(const struct typed_source *source);
/* The moment to ask for those that are wanted. */
void typed_sources_tick(void);

/* ---- By the hook. */

/* With the GIL: `work` is called when there is something to tell; it is kept for ever. */
void typed_sources_begin(void *work);
/* The next name that is wanted, which has to be told then; its length, 0: there is none. */
size_t typed_sources_wanted(char *name, size_t size);
/* The text of a source, NULL when there is none. */
void typed_sources_tell(const char *name, const char *text, int32_t cell);

/* Nobody is asked any more. */
void typed_sources_stop(void);
/* In a forked child: what was asked for in the parent is asked for again. */
void typed_sources_reset(void);
/* Of all that is here. For forks.c. */
extern pthread_mutex_t typed_sources_lock;

#endif
