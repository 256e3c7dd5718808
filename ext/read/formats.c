/* formats.c: the list of readers; a new one is a line here. Those of parts that may be left out are in parts.def. */
#include "read/dump/dump.h"
#include "read/flight/flight_dump.h"
#include "read/hlo/hlo.h"
#include "read/json/json.h"
#include "read/pickle/memory_snapshot.h"
#include "read/pprof/pprof.h"
#include "read/xplane/xplane.h"

#define PART(name) extern const struct reader name##_reader;
#include "parts.def"
#undef PART

const struct reader *const readers[] = {&dump_reader,  &flight_reader, &json_reader, &memory_snapshot_reader,
                                        &pprof_reader,
#define PART(name) &name##_reader,
#include "parts.def"
#undef PART
                                        &xplane_reader, &hlo_reader, NULL};
