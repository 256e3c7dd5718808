/* graph.h: one program of XLA as costs.c needs it: its instructions with their shapes, operands and what they
** call.
**
** Filled instruction by instruction while a program is read (proto.c), one program at a time.  Anything may stand in a
** file: ids that are not there, shapes of any size, computations that call themselves; what is not known is -1 or
** HLO_NONE, and costs of what rests on it are not known either.
**
**   HloComputation   instructions=2 id=5 root_id=6
**   HloInstruction   opcode=2 shape=3 literal=8 parameter_number=9 tuple_index=13 window=15
**                    convolution_dimension_numbers=16 custom_call_target=28 dot_dimension_numbers=30 fft_length=32
**                    id=35 operand_ids=36 called_computation_ids=38 backend_config=43 feature_group_count=50
**                    replica_groups=49 batch_group_count=58 collective_device_list=87
**   Shape            element_type=2 dimensions=3 tuple_shapes=4 layout=5; Layout: element_size_in_bits=7
**   ReplicaGroup     replica_ids=1; of a list replica_groups=1 iota_replica_group_list=2 (num_devices_per_group=2)
**   WindowDimension  size=1 stride=2 padding_low=3 padding_high=4 window_dilation=5 base_dilation=6
*/
#ifndef TFPROF_HLO_GRAPH_H
#define TFPROF_HLO_GRAPH_H

#include "base/list.h"
#include "base/wire.h"

enum { HLO_NONE = UINT32_MAX };

enum hlo_cost {
  COST_UNKNOWN,
  COST_NOTHING,        /* neither computes nor moves anything */
  COST_MOVE,           /* reads its operands and writes its result */
  COST_ELEMENTWISE,    /* besides, one operation for each element of the result */
  COST_TRANSCENDENTAL, /* besides, a function for each, which XLA does not count among the operations */
  COST_ALL_REDUCE,
  COST_CALL,
  COST_CHOLESKY,
  COST_CONDITIONAL,
  COST_CONSTANT,
  COST_CONVOLUTION,
  COST_CUSTOM_CALL,
  COST_DOT,
  COST_DYNAMIC_SLICE,
  COST_DYNAMIC_UPDATE_SLICE,
  COST_FFT,
  COST_FUSION,
  COST_GATHER,
  COST_MAP,
  COST_PARAMETER,
  COST_REDUCE,
  COST_REDUCE_WINDOW,
  COST_SCATTER,
  COST_SELECT_AND_SCATTER,
  COST_SLICE,
  COST_SORT,
  COST_TRIANGULAR_SOLVE,
  COST_TUPLE,
  COST_TUPLE_ELEMENT,
  COST_WHILE
};

/* Of an array, or of a tuple all arrays in it. -1: not known, or beyond 2^63 - 1. */
struct hlo_shape {
  int64_t elements, bytes;
  uint32_t first_size, size_count; /* of an array, of `numbers` */
  uint32_t first_part, part_count; /* of a tuple, of `shapes` */
};
struct hlo_window_dimension {
  int64_t size, stride, padding_low, padding_high, window_dilation, base_dilation;
};
/* Which operands and results of a custom call are what. */
enum hlo_roles { ROLES_NONE, ROLES_DOT, ROLES_FORWARD, ROLES_INPUT_GRADIENT, ROLES_FILTER_GRADIENT };
/* What few instructions have: products, convolutions, windows. */
struct hlo_details {
  int64_t feature_groups, batch_groups;
  int64_t input_batch, input_feature, output_feature;             /* dimensions of a convolution's arrays */
  uint32_t input_spatial, kernel_spatial, output_spatial;         /* of `numbers`, as many as: */
  uint32_t spatial_count;                                         /* HLO_NONE: it is no convolution */
  uint32_t first_number, number_count; /* of `numbers`: contracted dimensions of a dot, lengths of an FFT */
  uint32_t first_window, window_count; /* of `windows` */
  uint8_t roles;                       /* enum hlo_roles */
};
struct hlo_instruction {
  int64_t id;
  uint64_t name;                         /* a hash */
  double flops, bytes;                   /* NAN: not known */
  double read_bytes;                     /* of what is handed to a fusion: so much of it is read; NAN: not known */
  uint32_t op;                           /* the reader's own */
  uint32_t number;                       /* of a parameter or of a part of a tuple */
  uint32_t group_size;                   /* devices of the first group that a collective names; 0: not told */
  uint32_t shape, details;               /* HLO_NONE */
  uint32_t first_operand, operand_count; /* of `links`: ids at first, then numbers of instructions or HLO_NONE */
  uint32_t first_called, called_count;   /* the same, of computations */
  uint8_t cost;                          /* enum hlo_cost */
  bool is_handed_in;                     /* a parameter, or a part of one that is a tuple */
  bool is_read;                          /* of these: an instruction that reads all of it was met */
};

struct hlo_computation {
  int64_t id, root_id;
  uint32_t first, count, root; /* instructions; HLO_NONE */
  uint8_t state;               /* of its costs: 0, being counted, counted */
  double flops;                /* of all of them together; NAN: not known */
};
struct hlo_graph {
  LIST(struct hlo_instruction) instructions;
  LIST(struct hlo_computation) computations;
  LIST(struct hlo_shape) shapes;
  LIST(struct hlo_window_dimension) windows;
  LIST(struct hlo_details) details;
  LIST(int64_t) numbers, links;
  LIST(uint32_t) order; /* computations, or instructions of one of them, by their ids */
  uint64_t looked_at;   /* instructions in search of parameters */
};

/* Forgets the program. */
void hlo_graph_clear(struct hlo_graph *graph);
void hlo_graph_free(struct hlo_graph *graph);
/* Begins the next computation, whose instructions are those that are added next. False: no memory, also below. */
bool hlo_graph_begin(struct hlo_graph *graph);
void hlo_graph_set_ids(struct hlo_graph *graph, int64_t id, int64_t root_id);
/* NULL: no memory. */
struct hlo_instruction *hlo_graph_add(struct hlo_graph *graph);
/* A field of the instruction that was added last; those that costs do not rest on are passed over. */
bool hlo_graph_take(struct hlo_graph *graph, const struct wire_reader *reader, const struct wire_field *field);
/* Once all is there: ids become numbers. */
bool hlo_graph_link(struct hlo_graph *graph);

/* costs.c: `flops` and `bytes` of all instructions. */
void hlo_graph_count(struct hlo_graph *graph);
/* The larger of the bytes that go into an instruction and come out of it; NAN: not known. */
double hlo_graph_exchanged_bytes(const struct hlo_graph *graph, const struct hlo_instruction *instruction);

#endif
