/* classic_tables.h: what the classic tfprof adds to SQL (parts.def). */
#ifndef TFPROF_CLASSIC_TABLES_H
#define TFPROF_CLASSIC_TABLES_H

#include "vtab/table_part.h"

extern const struct table_part classic_tables;

#endif
