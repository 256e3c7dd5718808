/* launch_calibration.h: which of the first steps have no kernels, so that what recording one takes is known early.
**
** Until it has been measured what a launch takes is an estimate, and the program may be slowed by more than --overhead
** without anybody noticing.  So in a job whose launches would be too many if each took DEAREST_NS, a round of
** launch_times.h is run before anything is thinned: in every other step only the calls are recorded, until some 400
** launches of either sort were seen.  Those steps are left out of all that is measured (ext/derive/steps/step_marks.c
** takes them for warm-up), which is why steps whose ops were chosen to stand for others are not among them.  As records
** come late, those of the FIRST_LEFT_OUT steps are waited for before there are more, twice as many each time, up to
** STEPS_LEFT_OUT.
** Where steps are not known nothing could be thinned, and nothing is left out.  What follows the last mark of a program
** belongs to a step without end: of a step no more than a second or two is left out (cuda_source.c).
**
** Of the steps' thread, but for what is atomic: that is the writer thread's to set. Nothing here reads a clock or
** takes a lock.
*/
#ifndef TFPROF_CAPTURE_LAUNCH_CALIBRATION_H
#define TFPROF_CAPTURE_LAUNCH_CALIBRATION_H

#include <stdbool.h>
#include <stdint.h>

enum { FIRST_LEFT_OUT = 3, STEPS_LEFT_OUT = 256 };

struct launch_calibration {
  _Atomic unsigned allowed; /* steps that may be left out, in all; 0: none are wanted */
  _Atomic unsigned left_out; /* so far */
  bool is_left_out;          /* the step that goes on */
  bool had_ops;              /* the one before it */
};

/* A step begins; `has_ops`: its ops are recorded. Whether its work is left out. */
static inline bool launch_calibration_step(struct launch_calibration *calibration, bool has_ops) {
  bool stands_for_others = has_ops && !calibration->had_ops;
  bool is_allowed = calibration->left_out < calibration->allowed && calibration->left_out < STEPS_LEFT_OUT;
  calibration->is_left_out = is_allowed && !calibration->is_left_out && !stands_for_others;
  calibration->left_out += calibration->is_left_out;
  calibration->had_ops = has_ops;
  return calibration->is_left_out;
}

#endif
