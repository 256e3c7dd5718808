/* formats.c: the list of readers; a new one is a line here. */
#include "read/dump/dump.h"
#include "read/flight/flight_dump.h"
#include "read/hlo/hlo.h"
#include "read/json/json.h"
#include "read/pickle/memory_snapshot.h"
#include "read/pprof/pprof.h"
#include "read/tensorflow/tensorflow.h"
#include "read/xplane/xplane.h"

const struct reader *const readers[] = {&dump_reader,  &flight_reader,     &json_reader,   &memory_snapshot_reader,
                                        &pprof_reader, &tensorflow_reader, &xplane_reader, &hlo_reader, NULL};
