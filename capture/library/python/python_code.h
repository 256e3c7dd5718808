/* python_code.h: what is kept of a Python code object, and when one dies.
**
** A code object may be freed and another take its address.  No reference can be taken without the GIL, so a code
** object is copied when a thread meets it first: file, function, first line, line table.  That copy stands for its
** address until the object dies: CPython tells us each death (PyCode_AddWatcher from 3.12 on; before, a wrapper around
** the deallocator of code objects) and the threads notice it before their next stack.  A thread can only meet the new
** object after the GIL has passed from the one that freed the old to the one that made the new, so none is mistaken
** for the other.
*/
#ifndef TFPROF_CAPTURE_PYTHON_CODE_H
#define TFPROF_CAPTURE_PYTHON_CODE_H

#include "channel/thread_record.h"

extern _Atomic uint64_t python_code_deaths; /* so far; of modules, too */

/* Begins to listen; the caller holds the GIL. false: this interpreter offers no way. */
bool python_watch_code(char *reason, size_t size);
/* Whether the last death was that of this address: the hook's proof. */
bool python_code_died(const void *code);
/* A code object, or a module that was told (module_rows.h), is being freed; the caller holds the GIL. */
void python_object_died(const void *object);
/* The next death after *seen, which becomes its number: the address, or 0 when too many were missed to say which.
** false: there is none. */
bool python_code_next_death(uint64_t *seen, uintptr_t *code);
/* Removes the dead from the thread's table. */
void python_notice_deaths(struct capture_thread *thread);

/* The thread's number for a code object, written as an item when it is new; 0: there was no room. */
uint32_t python_code_number(struct capture_thread *thread, const uint8_t *object);

/* A code object copied with `fetch`; texts are UTF-8. */
typedef bool (*python_fetch)(const void *address, void *copy, size_t bytes);
/* Of an object that is known to be alive: plain memory. */
bool python_read_here(const void *address, void *copy, size_t bytes);
struct python_code {
  int32_t first_line;
  uint32_t file_length, function_length, table_length;
  uint8_t *bytes; /* file, function, table */
};
bool python_copy_code(python_fetch fetch, const uint8_t *object, uint8_t *buffer, uint32_t size,
                      struct python_code *code);

/* The line of the instruction at `offset` bytes; 0 when it has none. `table` is an enum python_table. */
int32_t python_line(unsigned table_kind, const uint8_t *table, uint32_t length, int32_t first_line, uint32_t offset);

#endif
