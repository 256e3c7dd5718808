/* flight_json.c: a walk over the text that takes what it knows and passes over the rest (see flight_json.h). */
#include "flight_json.h"

#include <string.h>

struct walk {
  const char *at, *end;
};

static void pass_space(struct walk *walk) {
  while (walk->at < walk->end && strchr(" \t\r\n", *walk->at) && *walk->at) walk->at++;
}

static bool take_letter(struct walk *walk, char letter) {
  pass_space(walk);
  if (walk->at == walk->end || *walk->at != letter) return false;
  walk->at++;
  return true;
}

/* A text, as much as there is room for; bytes that are escaped and no letter become '?'. */
static bool take_text(struct walk *walk, char *text, size_t room) {
  size_t length = 0;
  text[0] = 0;
  if (!take_letter(walk, '"')) return false;
  while (walk->at < walk->end && *walk->at != '"') {
    char letter = *walk->at++;
    if (letter == '\\') {
      if (walk->at == walk->end) return false;
      letter = *walk->at++;
      if (!strchr("\"\\/", letter)) letter = '?';
    }
    if (length + 1 < room) text[length++] = letter;
  }
  text[length] = 0;
  return take_letter(walk, '"');
}

/* Any value. */
static bool pass_value(struct walk *walk) {
  char text[2];
  unsigned depth = 0;
  do {
    pass_space(walk);
    if (walk->at == walk->end) return false;
    char letter = *walk->at;
    if (letter == '"') {
      if (!take_text(walk, text, sizeof text)) return false;
      continue;
    }
    if (letter == '{' || letter == '[') depth++;
    else if (letter == '}' || letter == ']') {
      if (!depth--) return false;
    } else if (!depth) { /* a number or a word */
      while (walk->at < walk->end && !strchr(",}] \t\r\n", *walk->at)) walk->at++;
      return true;
    }
    walk->at++;
  } while (depth);
  return true;
}

static bool take_integer(struct walk *walk, int64_t *number) {
  bool is_negative = take_letter(walk, '-');
  uint64_t value = 0;
  const char *begin = walk->at;
  for (; walk->at < walk->end && *walk->at >= '0' && *walk->at <= '9'; walk->at++)
    value = value > INT64_MAX / 10 - 1 ? value : value * 10 + (uint64_t)(*walk->at - '0');
  *number = is_negative ? -(int64_t)value : (int64_t)value;
  return walk->at > begin;
}

static bool take_truth(struct walk *walk, bool *truth) {
  pass_space(walk);
  *truth = walk->at < walk->end && *walk->at == 't';
  return pass_value(walk);
}

struct entry {
  struct flight_group group; /* with the entry's own number */
  int64_t numbers[2];        /* of a collective; of a send or receive */
  bool is_retired;
  char state[16];
};

static bool take_names(struct walk *walk, struct flight_group *group) {
  if (!take_letter(walk, '[') || !take_text(walk, group->name, FLIGHT_NAME)) return false;
  if (take_letter(walk, ',') && !take_text(walk, group->description, FLIGHT_NAME)) return false;
  return take_letter(walk, ']');
}

static bool take_member(struct walk *walk, const char *key, struct entry *entry) {
  if (!strcmp(key, "collective_seq_id")) return take_integer(walk, &entry->numbers[0]);
  if (!strcmp(key, "p2p_seq_id")) return take_integer(walk, &entry->numbers[1]);
  if (!strcmp(key, "pg_id")) return take_integer(walk, &entry->group.id);
  if (!strcmp(key, "time_created_ns")) return take_integer(walk, &entry->group.began_ns);
  if (!strcmp(key, "is_p2p")) return take_truth(walk, &entry->group.is_point_to_point);
  if (!strcmp(key, "retired")) return take_truth(walk, &entry->is_retired);
  if (!strcmp(key, "state")) return take_text(walk, entry->state, sizeof entry->state);
  if (!strcmp(key, "profiling_name")) return take_text(walk, entry->group.collective, FLIGHT_NAME);
  if (!strcmp(key, "process_group")) return take_names(walk, &entry->group);
  return pass_value(walk);
}

/* The members of an object, of which `take` is given each key. */
static bool take_members(struct walk *walk, bool (*take)(struct walk *, const char *, void *), void *context) {
  char key[40];
  if (!take_letter(walk, '{')) return false;
  if (take_letter(walk, '}')) return true;
  do
    if (!take_text(walk, key, sizeof key) || !take_letter(walk, ':') || !take(walk, key, context)) return false;
  while (take_letter(walk, ','));
  return take_letter(walk, '}');
}

static bool take_of_entry(struct walk *walk, const char *key, void *entry) { return take_member(walk, key, entry); }

struct groups {
  struct flight_group *groups;
  unsigned count, room;
  int64_t pending_before_ns;
};

static struct flight_group *find_group(struct groups *all, const struct flight_group *like) {
  for (unsigned i = 0; i < all->count; i++)
    if (all->groups[i].id == like->id && all->groups[i].is_point_to_point == like->is_point_to_point)
      return &all->groups[i];
  return NULL;
}

static void add_entry(struct groups *all, const struct entry *entry) {
  struct flight_group of_entry = entry->group;
  of_entry.number = of_entry.last_number = entry->numbers[of_entry.is_point_to_point];
  of_entry.is_pending = !entry->is_retired && strcmp(entry->state, "completed") != 0 &&
                        of_entry.began_ns < all->pending_before_ns;
  struct flight_group *group = find_group(all, &of_entry);
  if (!group) {
    if (all->count < all->room) all->groups[all->count++] = of_entry;
    return;
  }
  int64_t last = of_entry.number > group->last_number ? of_entry.number : group->last_number;
  bool is_first_pending = of_entry.is_pending && (!group->is_pending || of_entry.number < group->number);
  bool is_last = !group->is_pending && of_entry.number >= group->number;
  if (is_first_pending || is_last) *group = of_entry;
  group->last_number = last;
}

static bool take_of_trace(struct walk *walk, const char *key, void *groups) {
  if (strcmp(key, "entries") != 0) return pass_value(walk);
  if (!take_letter(walk, '[')) return pass_value(walk);
  if (take_letter(walk, ']')) return true;
  do {
    struct entry entry = {0};
    if (!take_members(walk, take_of_entry, &entry)) return false;
    add_entry(groups, &entry);
  } while (take_letter(walk, ','));
  return take_letter(walk, ']');
}

unsigned flight_groups_of(const char *text, size_t length, int64_t now_ns, int64_t settled_ns,
                          struct flight_group *groups, unsigned room) {
  struct groups all = {.groups = groups, .room = room, .pending_before_ns = now_ns - settled_ns};
  struct walk walk = {text, text + length};
  take_members(&walk, take_of_trace, &all);
  return all.count;
}
