/* findings.h: the table tfprof_findings, which the view `advise` orders: what every check finds, one by one. */
#ifndef TFPROF_FINDINGS_H
#define TFPROF_FINDINGS_H

#include "vtab/connection.h"

/* What every check has. */
#define CHECK_COLUMNS "check_name, severity, subject, message, value, threshold, saves_ns, suggestion, evidence"

#define FINDINGS_TABLE "tfprof_findings"

int findings_register(struct connection *connection);

#endif
