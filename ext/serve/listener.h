/* listener.h: the HTTP side, by libmicrohttpd: which addresses there are, who may ask, and how answers go back.
**
**   GET  /             the page, without the token, since it holds nothing of a run
**   GET  /api/runs     which runs there are
**   GET  /api/panel    ?run=0&name=op_steps: the rows of a panel
**   GET  /api/events   ?run=0&window=FROM~TO&bucket=NS: what a timeline draws
**   GET  /api/changes  ?run=0: whether rows have come
**   POST /api/sql      ?run=0&rows=1000, the SQL as the body: the rows of a SELECT
**   GET  /api/recordable  ?run=0: how many programs of the run can be asked to record
**   POST /api/record   ?run=0&count=5, or &addresses=host:6009&duration_ms=2000: records that into the run
**
** Everything else is refused: 421 another Host, 403 a page of another site, 404, 405, 401 without the token, 400 a
** parameter that is none, 413 a body of more than MOST_BODY_BYTES.  Parameters: request_values.h; answers: answers.c.
*/
#ifndef TFPROF_SERVE_LISTENER_H
#define TFPROF_SERVE_LISTENER_H

#include "base/error.h"
#include "serve/recorder.h"
#include "serve/request_rules.h"
#include "serve/worker.h"

struct listener;

struct listener_options {
  const struct request_rules *rules; /* live as long as the listener */
  struct worker *const *workers;     /* of the runs by number, and, of more than one, of all of them together */
  struct worker *const *sql_workers; /* the same for SQL that is typed, which may take long; started when needed */
  size_t run_count, worker_count;
  const char *const *paths;
  struct recorder *recorder;
  int socket; /* listens; the listener's from then on */
};

enum tfprof_status listener_start(struct listener **made, const struct listener_options *options,
                                  struct tfprof_error *error);
/* Closes connections of which no request comes. Whether something is asked at the moment; *last_ns: when something was
** asked last, as served_now() has it. */
bool listener_watch(struct listener *listener, int64_t *last_ns);
/* From now on nothing is given to workers, which then can stop; after that the listener can. */
void listener_end(struct listener *listener);
void listener_stop(struct listener *listener);

#endif
