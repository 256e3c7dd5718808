/* profile_message.c: struct dump_profile to the protobuf message Profile and back.
**
** Texts are cut at DUMP_MAXIMUM_PROFILE_TEXT, so that a message always fits in a frame's head, and at a zero byte when
** read; attributes, which cannot be cut, are left out when they are too long.
*/
#include "dump/format.h"
#include "tfprof.pb-c.h"

#include <stdlib.h>
#include <string.h>

static void set_text(ProtobufCBinaryData *field, const char *text) {
  if (!text) return;
  field->len = strnlen(text, DUMP_MAXIMUM_PROFILE_TEXT);
  field->data = (uint8_t *)(uintptr_t)text; /* protobuf-c's type is not const; packing only reads */
}

static Tfprof__Profile message_of(const struct dump_profile *profile) {
  static const uint8_t no_boot_id[sizeof profile->boot_id];
  Tfprof__Profile message = TFPROF__PROFILE__INIT;
  set_text(&message.host, profile->host);
  set_text(&message.job, profile->job);
  set_text(&message.command, profile->command);
  set_text(&message.run_command, profile->run_command);
  set_text(&message.framework, profile->framework);
  set_text(&message.framework_version, profile->framework_version);
  set_text(&message.recorder, profile->recorder);
  set_text(&message.clock_domain, profile->clock_domain);
  set_text(&message.origin, profile->origin);
  message.is_torn = profile->is_torn;
  message.clock_offset_ns = profile->clock_offset_ns;
  message.has_no_clock_error = profile->has_no_clock_error;
  message.pid = profile->pid;
  message.parent_pid = profile->parent_pid;
  message.rank_plus_one = profile->rank >= 0 ? (uint32_t)profile->rank + 1 : 0;
  message.world_size = profile->world_size;
  if (memcmp(profile->boot_id, no_boot_id, sizeof no_boot_id) != 0) {
    message.boot_id.len = sizeof profile->boot_id;
    message.boot_id.data = (uint8_t *)(uintptr_t)profile->boot_id;
  }
  message.created_realtime_ns = profile->created_realtime_ns;
  if (profile->attributes && strlen(profile->attributes) <= DUMP_MAXIMUM_ATTRIBUTES) {
    message.attributes.len = strlen(profile->attributes);
    message.attributes.data = (uint8_t *)(uintptr_t)profile->attributes;
  }
  message.event_count_plus_one = profile->event_count_plus_one;
  message.span_start_ns = profile->span_start_ns;
  message.span_ns_plus_one = profile->span_ns_plus_one;
  message.sampling_seed = profile->sampling_seed;
  message.process_start_ticks = profile->process_start_ticks;
  return message;
}

size_t dump_profile_packed_bytes(const struct dump_profile *profile) {
  Tfprof__Profile message = message_of(profile);
  return tfprof__profile__get_packed_size(&message);
}

size_t dump_profile_pack(const struct dump_profile *profile, uint8_t *to) {
  Tfprof__Profile message = message_of(profile);
  return tfprof__profile__pack(&message, to);
}

/* False when memory is short. An absent field changes nothing. */
static bool take_text(const char **target, const ProtobufCBinaryData *field) {
  if (!field->len) return true;
  char *copy = strndup((const char *)field->data, field->len);
  if (!copy) return false;
  free((char *)(uintptr_t)*target);
  *target = copy;
  return true;
}

enum tfprof_status dump_profile_merge(struct dump_profile *profile, const uint8_t *bytes, size_t length,
                                      struct tfprof_error *error) {
  Tfprof__Profile *message = tfprof__profile__unpack(NULL, length, bytes);
  if (!message) return error_set(error, TFPROF_CORRUPT, "the profile message cannot be decoded");
  bool done = take_text(&profile->host, &message->host) && take_text(&profile->job, &message->job) &&
              take_text(&profile->command, &message->command) &&
              take_text(&profile->run_command, &message->run_command) &&
              take_text(&profile->framework, &message->framework) &&
              take_text(&profile->framework_version, &message->framework_version) &&
              take_text(&profile->recorder, &message->recorder) &&
              take_text(&profile->attributes, &message->attributes) &&
              take_text(&profile->clock_domain, &message->clock_domain) &&
              take_text(&profile->origin, &message->origin);
  if (done) {
    if (message->pid) profile->pid = message->pid;
    if (message->parent_pid) profile->parent_pid = message->parent_pid;
    if (message->rank_plus_one && message->rank_plus_one <= (uint32_t)INT32_MAX) {
      profile->rank = (int32_t)(message->rank_plus_one - 1);
    }
    if (message->world_size) profile->world_size = message->world_size;
    if (message->boot_id.len == sizeof profile->boot_id)
      memcpy(profile->boot_id, message->boot_id.data, message->boot_id.len);
    if (message->created_realtime_ns) profile->created_realtime_ns = message->created_realtime_ns;
    if (message->event_count_plus_one) profile->event_count_plus_one = message->event_count_plus_one;
    if (message->span_ns_plus_one) {
      profile->span_start_ns = message->span_start_ns;
      profile->span_ns_plus_one = message->span_ns_plus_one;
    }
    if (message->sampling_seed) profile->sampling_seed = message->sampling_seed;
    if (message->process_start_ticks) profile->process_start_ticks = message->process_start_ticks;
    if (message->clock_offset_ns) profile->clock_offset_ns = message->clock_offset_ns;
    profile->is_torn |= message->is_torn != 0;
    profile->has_no_clock_error |= message->has_no_clock_error != 0;
  }
  tfprof__profile__free_unpacked(message, NULL);
  return done ? TFPROF_OK : error_no_memory(error);
}

void dump_profile_free_texts(struct dump_profile *profile) {
  const char **texts[] =
      {&profile->host,      &profile->job,               &profile->command,  &profile->run_command,
       &profile->framework, &profile->framework_version, &profile->recorder, &profile->clock_domain,
       &profile->attributes, &profile->origin};
  for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
    free((char *)(uintptr_t)*texts[i]);
    *texts[i] = NULL;
  }
}
