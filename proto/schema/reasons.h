/* reasons.h: every code that diagnostics.reason may have (reasons.def), as data. */
#ifndef TFPROF_REASONS_H
#define TFPROF_REASONS_H

struct reason_spec {
  const char *code;
  const char *severities; /* "error, warning": those that rows may have, the worst first */
  const char *happened, *remedy; /* sentences: what happened, what to do */
};

/* In the order of the codes; ends at the first without one. */
extern const struct reason_spec schema_reasons[];

#endif
