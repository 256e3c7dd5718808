/* watch.h: the same question again and again while a run is recorded: --watch and the command watch.
**
** On a terminal each answer is drawn in the place of the one before, cut to the screen; elsewhere they follow one after
** the other, boxes, charts and markdown below a line with the time, csv and tsv parted by an empty line, json and jsonl
** by nothing (an array, or its lines, each time).
*/
#ifndef TFPROF_SHELL_WATCH_H
#define TFPROF_SHELL_WATCH_H

#include "script.h"

#define WATCH_SECONDS 2.0
#define WATCH_FEWEST_SECONDS 0.1
#define WATCH_MOST_SECONDS 86400.0

/* "2", "0.5", "2s", "500ms", "1m", between the two bounds above. 0: it is no such time. */
double watch_seconds(const char *text);

/* Prints the answer to what is watched. */
typedef enum script_result watch_answer(struct session *session, const void *question);

/* Reads what was recorded since and answers, every so many seconds, until Ctrl-C (or q on a terminal), until the
** recording has ended, of which it makes sure by a last answer, or until an answer fails. SCRIPT_OK: it was ended by
** one of the first two. */
enum script_result watch_run(struct session *session, double seconds, watch_answer *answer, const void *question);

/* Where the run is a directory that has nothing in it yet: waits for the first recording, and says so on stderr. */
void watch_wait_for_first(const char *path);

#endif
