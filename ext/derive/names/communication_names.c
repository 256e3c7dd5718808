/* communication_names.c: see communication_names.h.
**
** A name is read as C++ has it: namespaces, then the function's own name, up to template arguments or parameters.  It
** is one of communication where
**   the function's name begins as those of a library that does nothing else (ncclDevKernel_..., mscclKernel_...,
**     userbuffers_..., hcom_...), or one of the namespaces is such a library's (deep_ep, c10d::symmetric_memory);
**   or the function's name or a namespace names an exchange (allreduce_fusion_kernel, sgl::allreduce::one_shot), or an
**     exchange by memory that all devices map (cross_device_reduce, multimem).
** Not so of what only has an exchange in its name: kernels of ATen, and those that torch.compile makes of several
** ops, of which each is named (triton_poi_fused_all_gather_into_tensor_view_0).
*/
#include "derive/names/communication_names.h"

#include <stdint.h>
#include <string.h>
#include <strings.h>

/* ---- parts of a name ---- */

struct part {
  const char *text;
  size_t length;
};

static bool part_begins(struct part part, const char *head) {
  size_t length = strlen(head);
  return part.length >= length && memcmp(part.text, head, length) == 0;
}

static bool part_is(struct part part, const char *text) {
  return part.length == strlen(text) && memcmp(part.text, text, part.length) == 0;
}

/* Whether letters and digits of the part have `word` within, whose letters are small: of allreduce it has all_reduce,
** AllReduce and allReduceKernel. */
static bool has_word(struct part part, const char *word) {
  size_t length = strlen(word);
  for (size_t start = 0; start < part.length; start++) {
    size_t matched = 0;
    for (size_t i = start; i < part.length && matched < length; i++) {
      char c = part.text[i];
      if (c == '_' && i > start) continue;
      if (c >= 'A' && c <= 'Z') c = (char)(c - 'A' + 'a');
      if (c != word[matched]) break;
      matched++;
    }
    if (matched == length) return true;
  }
  return false;
}

/* Names of the form "void a::(anonymous namespace)::b<c, d>(e)": the next of a, (anonymous namespace), b, from *at on;
** false behind b. */
static bool next_part(const char **at, struct part *part) {
  static const char anonymous[] = "(anonymous namespace)";
  const char *p = *at;
  if (!*p || *p == '<' || (*p == '(' && strncmp(p, anonymous, sizeof anonymous - 1) != 0)) return false;
  if (*p == '(') {
    *part = (struct part){p, sizeof anonymous - 1};
  } else {
    *part = (struct part){p, strcspn(p, ":<( ")};
  }
  p += part->length;
  while (*p == ' ') p++;
  if (*p == '<') { /* of a class template: its arguments end before :: */
    size_t depth = 0;
    const char *q = p;
    for (; *q; q++) {
      if (*q == '<') depth++;
      if (*q == '>' && --depth == 0) break;
    }
    if (*q && q[1] == ':') p = q + 1;
  }
  *at = p[0] == ':' && p[1] == ':' ? p + 2 : "";
  return part->length > 0 || **at;
}

static const char *without_type(const char *name) { return strncmp(name, "void ", 5) == 0 ? name + 5 : name; }

/* ---- what communicates ---- */

/* Words of exchanges, without underlines, and what PyTorch's marks call them; of those that hold each other the longer
** one first. */
static const struct {
  const char *word, *operation;
} exchanges[] = {
    {"allreduce", "all_reduce"},  {"allgather", "all_gather"},  {"reducescatter", "reduce_scatter"},
    {"alltoall", "all_to_all"},   {"all2all", "all_to_all"},    {"broadcast", "broadcast"},
    {"sendrecv", "send_recv"},    {"crossdevicereduce", "all_reduce"},
    {"hybridcubemesh", "all_reduce"}, /* of c10d::intra_node_comm */
    {"barrier", "barrier"},
};
enum { EXCHANGES = sizeof exchanges / sizeof *exchanges, UNMISTAKABLE = 5 /* of them, as part of any name */ };

/* What functions of a library exchange, by the first word of theirs that is in the name; NULL: it is not told.
** nvshmem's reductions reach every member of a team, and its (f)collect gathers.  Experts get their tokens by dispatch,
** and combine sends what they made of them back: each device sends to all. */
static const struct {
  const char *library, *word, *operation;
} of_libraries[] = {
    {"userbuffers_", "sum", "all_reduce"}, /* halves of it: operation_of_userbuffers */
    {"userbuffers_", "send", "send"},        {"userbuffers_", "recv", "recv"},
    {"kuserbuffers_", "send", "send"},       {"kuserbuffers_", "recv", "recv"},
    {"hcom_", "send", "send"},               {"hcom_", "receive", "recv"},
    {"nvshmem", "collect", "all_gather"},    {"nvshmem", "reduce", "all_reduce"},
    {"symmetric_memory", "reduce", "reduce"}, {"nccl", "reduce", "reduce"},
    {"deep_ep", "notify", NULL},             {"deep_ep", "dispatch", "all_to_all"},
    {"deep_ep", "combine", "all_to_all"},    {"mori", "dispatch", "all_to_all"},
    {"mori", "combine", "all_to_all"},       {"pplx", "dispatch", "all_to_all"},
    {"pplx", "combine", "all_to_all"},       {"moeA2A", "dispatch", "all_to_all"},
    {"moeA2A", "combine", "all_to_all"},
};

/* Libraries that do nothing else, by how the names of their functions or their namespaces begin. */
static const char *const libraries[] = {"nccl",        "rccl",         "hccl",     "oneccl",  "msccl",  "nvshmem",
                                        "rocshmem",    "userbuffers_", "kuserbuffers_", "hcom_", "deep_ep", "c10d",
                                        "symm_mem",    "symmetric_memory", "ccl_",  "mori",    "pplx",   "quickreduce"};
/* Functions that exchange by memory which all devices map, of whichever library. */
static const char *const functions[] = {"cross_device_reduce", "multimem_", "hybridCubeMesh", "moeA2ADispatch",
                                        "moeA2ACombine"};

static bool begins_as_any(struct part part, const char *const *heads, size_t count) {
  for (size_t i = 0; i < count; i++) {
    if (part_begins(part, heads[i])) return true;
  }
  return false;
}
#define AMONG(part, heads) begins_as_any(part, heads, sizeof heads / sizeof *heads)

static bool names_exchange(struct part part) {
  for (size_t i = 0; i < UNMISTAKABLE; i++) {
    if (has_word(part, exchanges[i].word)) return true;
  }
  return false;
}

bool communication_on_host(const char *name) {
  static const char *const heads[] = {"gloo:", "mpi:",   "ucc:",     "nccl:",
                                      "xccl:", "hccl:",  "c10d::",   "_c10d_functional::",
                                      "c10d_functional::", "record_param_comms"};
  for (size_t i = 0; i < sizeof heads / sizeof *heads; i++) {
    if (strncmp(name, heads[i], strlen(heads[i])) == 0) return true;
  }
  return false;
}

bool communication_kernel(const char *name) {
  static const char *const elsewhere[] = {"triton_", "at", "thrust", "cub"}; /* the last three are namespaces */
  const char *at = without_type(name);
  struct part part;
  bool is_first = true, is_of_dispatch = false;
  while (next_part(&at, &part)) {
    bool is_namespace = *at;
    if (is_first) {
      if (part_begins(part, elsewhere[0])) return false;
      for (size_t i = 1; i < sizeof elsewhere / sizeof *elsewhere; i++) {
        if (is_namespace && part_is(part, elsewhere[i])) return false;
      }
    }
    is_first = false;
    if (is_of_dispatch && (part_is(part, "layout") || part_is(part, "get_dispatch_layout")))
      return false; /* counts tokens, and exchanges none */
    is_of_dispatch |= part_is(part, "deep_ep");
    if (is_of_dispatch && is_namespace) continue;
    if (AMONG(part, libraries) || AMONG(part, functions) || names_exchange(part)) return true;
    if (is_namespace) continue;
    return strncmp(without_type(name), "deep_ep::", strlen("deep_ep::")) == 0;
  }
  return false;
}

/* ---- what is exchanged ---- */

/* What an instruction of XLA exchanges; NULL: it is none that begins an exchange. */
static const char *operation_of_instruction(const char *opcode) {
  static const struct {
    const char *opcode, *operation;
  } known[] = {{"all-reduce", "all_reduce"},
               {"all-gather", "all_gather"},
               {"reduce-scatter", "reduce_scatter"},
               {"all-to-all", "all_to_all"},
               {"ragged-all-to-all", "all_to_all"},
               {"collective-permute", "collective_permute"},
               {"collective-broadcast", "broadcast"}};
  for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
    size_t length = strlen(known[i].opcode);
    if (strncmp(opcode, known[i].opcode, length) != 0) continue;
    const char *tail = opcode + length;
    if (strncmp(tail, "-start", strlen("-start")) == 0) tail += strlen("-start");
    if (!*tail || *tail == '.') return known[i].operation;
  }
  return NULL;
}

bool communication_instruction(const char *opcode) { return operation_of_instruction(opcode) != NULL; }

static const char *exchange_in(struct part part) {
  for (size_t i = 0; i < EXCHANGES; i++) {
    if (has_word(part, exchanges[i].word)) return exchanges[i].operation;
  }
  return NULL;
}

/* "ncclDevKernel_ReduceScatter_Sum_f32_RING_LL": the operation stands behind Kernel_, in capitals. */
static bool operation_of_nccl(struct part part, char *operation, size_t size) {
  const char *mark = memmem(part.text, part.length, "Kernel_", strlen("Kernel_"));
  size_t length = 0;
  if (!part_begins(part, "nccl") || !mark) return false;
  if (memmem(part.text, part.length, "Ring", strlen("Ring"))) return false; /* ncclReduceRingLLKernel_sum_f32 */
  for (const char *p = mark + strlen("Kernel_"); p < part.text + part.length && *p != '_' && length + 2 < size; p++) {
    bool is_capital = *p >= 'A' && *p <= 'Z';
    if (is_capital && length) operation[length++] = '_';
    operation[length++] = is_capital ? (char)(*p - 'A' + 'a') : *p;
  }
  operation[length] = 0;
  return length > 0;
}

/* "userbuffers_fp16_sum_inplace_gpu_rw_ag": _rs and _ag are halves of a sum, which without them is whole. */
static const char *operation_of_userbuffers(struct part part) {
  if (!part_begins(part, "userbuffers_") || !has_word(part, "sum")) return NULL;
  bool gathers = memmem(part.text, part.length, "_ag", 3), scatters = memmem(part.text, part.length, "_rs", 3);
  return gathers == scatters ? NULL : gathers ? "all_gather" : "reduce_scatter";
}

/* Of a function whose name is `part`, below the namespaces of a library or called after it. */
static const char *operation_of_library(const char *name, struct part part) {
  for (size_t i = 0; i < sizeof of_libraries / sizeof *of_libraries; i++) {
    const char *at = without_type(name);
    bool is_of_it = false;
    for (struct part next; !is_of_it && next_part(&at, &next);) is_of_it = part_begins(next, of_libraries[i].library);
    if (is_of_it && has_word(part, of_libraries[i].word)) return of_libraries[i].operation;
  }
  return NULL;
}

/* As much as there is room for, and no part of a character. */
static void put_operation(char *operation, size_t size, const char *text, size_t length) {
  if (length >= size) {
    length = size - 1;
    while (length && ((unsigned char)text[length] & 0xc0) == 0x80) length--;
  }
  memcpy(operation, text, length);
  operation[length] = 0;
}

void communication_operation(const char *name, char *operation, size_t size) {
  const char *at = without_type(name), *found = operation_of_instruction(name);
  struct part part, last = {name, 0};
  operation[0] = 0;
  while (!found && next_part(&at, &part)) {
    const char *exchange = exchange_in(part);
    if (!exchange && operation_of_nccl(part, operation, size)) return;
    if (!exchange) exchange = operation_of_userbuffers(part);
    if (exchange) found = exchange;
    if (part.length) last = part;
  }
  if (!found && last.length) found = operation_of_library(name, last);
  if (found) put_operation(operation, size, found, strlen(found));
  else put_operation(operation, size, last.length ? last.text : name, last.length ? last.length : strlen(name));
}

