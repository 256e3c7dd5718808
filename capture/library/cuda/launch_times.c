/* launch_times.c: see launch_times.h. */
#include "launch_times.h"

#include <assert.h>
#include <string.h>

/* Of all launches. */
#define SHORTEST_LEFT_OUT 0.1
#define LONGEST_LEFT_OUT 0.2

void launch_times_begin(struct launch_times *times) {
  memset(times, 0, sizeof *times);
  times->switches[0] = (struct record_switch){.begun_ns = INT64_MIN, .done_ns = INT64_MIN, .to = CUDA_ALL};
  times->switched = 1;
}

void launch_times_switch(struct launch_times *times, const struct record_switch *change) {
  times->switches[times->switched++ % LAUNCH_SWITCHES] = *change;
  times->stretch.begin_ns = times->stretch.end_ns = 0;
  times->pause.on_ns = times->pause.next_ns = 0;
}

/* The last of the switches that are kept which had begun at that time; switched: none had. */
static uint64_t last_begun(const struct launch_times *times, int64_t time_ns) {
  uint64_t first = times->switched > LAUNCH_SWITCHES ? times->switched - LAUNCH_SWITCHES : 0, end = times->switched;
  uint64_t oldest = first;
  while (first < end) {
    uint64_t middle = first + (end - first) / 2;
    if (times->switches[middle % LAUNCH_SWITCHES].begun_ns <= time_ns) first = middle + 1;
    else end = middle;
  }
  return first == oldest ? times->switched : first - 1;
}

bool launch_times_at(struct launch_times *times, int64_t start_ns, int64_t end_ns, enum cuda_recording *recording) {
  if (start_ns < times->stretch.begin_ns || end_ns >= times->stretch.end_ns) {
    uint64_t number = last_begun(times, end_ns);
    if (number == times->switched) return false;
    const struct record_switch *change = &times->switches[number % LAUNCH_SWITCHES];
    if (start_ns < change->done_ns) return false;
    times->stretch.begin_ns = change->done_ns;
    times->stretch.end_ns =
        number + 1 < times->switched ? times->switches[(number + 1) % LAUNCH_SWITCHES].begun_ns : INT64_MAX;
    times->stretch.recording = change->to;
    times->stretch.number = number;
  }
  *recording = times->stretch.recording;
  return true;
}

/* The last pause of those known that was over at that time. */
static void find_pause(struct launch_times *times, int64_t time_ns) {
  uint64_t oldest = times->switched > LAUNCH_SWITCHES ? times->switched - LAUNCH_SWITCHES : 0;
  uint64_t number = last_begun(times, time_ns);
  times->pause.off_ns = times->pause.on_ns = INT64_MIN;
  times->pause.next_ns = INT64_MIN;
  if (number == times->switched) return; /* it is long ago */
  times->pause.next_ns =
      number + 1 < times->switched ? times->switches[(number + 1) % LAUNCH_SWITCHES].begun_ns : INT64_MAX;
  times->pause.on_ns = times->switches[number % LAUNCH_SWITCHES].begun_ns;
  while (number > oldest && times->switches[number % LAUNCH_SWITCHES].to != CUDA_ALL) number--;
  while (number > oldest && times->switches[(number - 1) % LAUNCH_SWITCHES].to == CUDA_ALL) number--;
  while (number > oldest && times->switches[(number - 1) % LAUNCH_SWITCHES].to != CUDA_ALL) {
    number--;
    times->pause.off_ns = times->switches[number % LAUNCH_SWITCHES].begun_ns;
  }
}

bool launch_times_is_over_pause(struct launch_times *times, int64_t start_ns, int64_t end_ns) {
  if (end_ns < times->pause.on_ns || end_ns >= times->pause.next_ns) find_pause(times, end_ns);
  return start_ns < times->pause.off_ns;
}

void launch_times_add(struct launch_times *times, int64_t start_ns, int64_t end_ns) {
  enum cuda_recording recording;
  if (!times->is_measuring || end_ns < start_ns || !launch_times_at(times, start_ns, end_ns, &recording) ||
      recording == CUDA_NOTHING)
    return;
  uint64_t place = (uint64_t)(end_ns - start_ns) / LAUNCH_PLACE_NS;
  if (place >= LAUNCH_PLACES) return;
  struct launch_sample *sample = recording == CUDA_ALL ? &times->with : &times->without;
  /* As much of one as of the other, so that both are of the same time. */
  if (sample == &times->with && times->with.count > times->without.count + LAUNCHES_OF_ROUND) return;
  sample->places[place]++;
  if (!sample->count++ || sample->last_stretch != times->stretch.number) sample->stretches++;
  sample->last_stretch = times->stretch.number;
}

/* The mean duration without the shortest and the longest. */
static double typical_ns(const struct launch_sample *sample) {
  double first = (double)sample->count * SHORTEST_LEFT_OUT, last = (double)sample->count * (1 - LONGEST_LEFT_OUT);
  double before = 0, sum = 0;
  for (unsigned place = 0; place < LAUNCH_PLACES && before < last; place++) {
    double after = before + sample->places[place];
    double begin = before > first ? before : first, end = after < last ? after : last;
    if (end > begin) sum += (end - begin) * (place + 0.5);
    before = after;
  }
  return sum / (last - first) * LAUNCH_PLACE_NS;
}

static bool is_enough(const struct launch_sample *sample) {
  unsigned wanted = sample->count >= MANY_LAUNCHES ? FEWEST_STRETCHES : STRETCHES_OF_ROUND;
  return sample->count >= LAUNCHES_OF_ROUND && sample->stretches >= wanted;
}

static void begin_round(struct launch_times *times) {
  memset(&times->with, 0, sizeof times->with);
  memset(&times->without, 0, sizeof times->without);
}

void launch_times_measure(struct launch_times *times, bool is_wanted) {
  if (is_wanted && !times->is_measuring) begin_round(times);
  times->is_measuring = is_wanted;
}

bool launch_times_learn(struct launch_times *times) {
  if (!times->is_measuring || !is_enough(&times->with) || !is_enough(&times->without)) return false;
  double kernel_ns = typical_ns(&times->with) - typical_ns(&times->without);
  if (kernel_ns < LEAST_KERNEL_NS) kernel_ns = LEAST_KERNEL_NS;
  if (kernel_ns > MOST_KERNEL_NS) kernel_ns = MOST_KERNEL_NS;
  times->kernel_ns = times->rounds ? (times->kernel_ns + kernel_ns) / 2 : kernel_ns;
  times->rounds++;
  begin_round(times);
  assert(times->kernel_ns >= LEAST_KERNEL_NS && times->kernel_ns <= MOST_KERNEL_NS);
  return true;
}
