/* training_passes.h: when a program went forward, backward and through its optimizer, as memory is told by.
**
** A backward pass is the backward ops between one op of the forward pass, or of the optimizer, and the next.  Ops of
** the forward pass are the outermost ones that take part in autograd (ops.sequence_number), on the thread that has most
** of them: threads of data loaders run ops of their own meanwhile.
*/
#ifndef TFPROF_DERIVE_TRAINING_PASSES_H
#define TFPROF_DERIVE_TRAINING_PASSES_H

#include "derive/rows.h"

struct moments {
  int64_t *times; /* ascending */
  uint32_t count, capacity;
};

struct training_passes {
  struct moments breaks;                           /* where ops of the forward pass and the optimizer's steps begin */
  struct moments in_modules;                       /* of the former those in a module of the model */
  struct moments backward_starts, backward_ends;   /* of outermost backward ops; of ends, the last so far */
  struct moments optimizer_starts, optimizer_ends; /* likewise of calls of Optimizer.step */
};

enum pass_kind { PASS_FORWARD, PASS_BACKWARD, PASS_OPTIMIZER };

/* Ops in any order; then training_passes_sort() once. false: no memory. */
bool training_passes_add(struct training_passes *passes, enum pass_kind kind, bool is_in_module, int64_t start,
                         int64_t end);
bool training_passes_sort(struct training_passes *passes);
void training_passes_free(struct training_passes *passes);

/* When the backward pass had ended that went on at a time. */
int64_t training_passes_backward_end(const struct training_passes *passes, int64_t time);
/* When the call of Optimizer.step ends in which a time lies; INT64_MIN: in none. */
int64_t training_passes_optimizer_end(const struct training_passes *passes, int64_t time);
/* Whether a time is before the next forward pass: since the last op in a module something went backward or through the
** optimizer, or there was none. *next is when the first op in a module begins after it, INT64_MAX when none does. */
bool training_passes_is_before_forward(const struct training_passes *passes, int64_t time, int64_t *next);

#endif
