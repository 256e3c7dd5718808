/* checkpoint_state.h: the file `checkpoint` of a Saver, a CheckpointState as text: model_checkpoint_path: "ckpt-3". */
#ifndef TFPROF_TENSORFLOW_CHECKPOINT_STATE_H
#define TFPROF_TENSORFLOW_CHECKPOINT_STATE_H

/* The prefix of the checkpoint that the file names as the newest, beside it unless it is an absolute path; to be freed.
** NULL: it names none, or there is no memory. */
char *tf_checkpoint_of_state(const char *path);

#endif
