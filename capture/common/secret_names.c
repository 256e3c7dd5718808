/* secret_names.c: see secret_names.h.
**
** A name is taken apart into words, at signs and where an upper-case letter follows a lower-case one. Models have
** tokens and keys, too: --max-tokens, --pad-token, --text-key. So these words count as the last one only, and not
** behind those that a tokenizer's or a data set's names have.
*/
#include "secret_names.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

enum { WORD_MAXIMUM = 24, WORDS_MAXIMUM = 12 };

struct name_words {
  char words[WORDS_MAXIMUM][WORD_MAXIMUM]; /* the last ones, in lower case */
  size_t count;
};

static bool is_in(const char *const *list, const char *word) {
  for (; *list; list++)
    if (strcmp(*list, word) == 0) return true;
  return false;
}

static void take_name_word(struct name_words *name, const char *text, size_t length) {
  if (!length) return;
  if (name->count == WORDS_MAXIMUM) {
    memmove(name->words, name->words + 1, sizeof name->words - sizeof name->words[0]);
    name->count--;
  }
  char *word = name->words[name->count++];
  if (length >= WORD_MAXIMUM) length = WORD_MAXIMUM - 1;
  for (size_t i = 0; i < length; i++) word[i] = (char)tolower((unsigned char)text[i]);
  word[length] = '\0';
}

static void split_name(struct name_words *name, const char *text, size_t length) {
  size_t begin = 0;
  for (size_t i = 0; i < length; i++) {
    bool is_letter = isalnum((unsigned char)text[i]);
    bool begins_word = i > begin && isupper((unsigned char)text[i]) && islower((unsigned char)text[i - 1]);
    if (is_letter && !begins_word) continue;
    take_name_word(name, text + begin, i - begin);
    begin = is_letter ? i : i + 1;
  }
  take_name_word(name, text + begin, length - begin);
}

/* What a name ends in that says something about a secret, or where it is, but is none. */
static const char *const describing[] = {
    "file",     "files",   "path",      "paths",      "dir",       "directory", "folder", "name",    "names",
    "type",     "types",   "uri",       "method",     "mode",      "env",       "var",    "length",  "len",
    "size",     "dim",     "dims",      "count",      "index",     "idx",       "id",     "ids",     "embedding",
    "embeddings", "embed", "level",     "limit",      "budget",    "rate",      "weight", "weights", "ratio",
    "field",    "column",  "prefix",    "suffix",     "format",    "style",     "class",  "loss",    "policy",
    "provider", "server",  "host",      "port",       "required",  "enabled",   "expiry", "ttl",     "timeout",
    "position", "positions", "source",  "backend",    "scheme",    "num",       "classification",    NULL};
/* Before `token` and `tokens`: those of a vocabulary. */
static const char *const vocabulary[] = {
    "pad",    "padding", "eos",     "bos",     "unk",     "unknown",  "mask",   "masked",  "cls",     "sep",
    "separator", "image", "audio",  "video",   "start",   "end",      "stop",   "begin",   "special", "per",
    "first",  "last",    "next",    "prompt",  "system",  "text",     "vision", "visual",  "word",    "sub",
    "newline", "think",  "tool",    "extra",   "added",   "additional", "forced", "decoder", "encoder", "class",
    "dist",   "distillation", "latent", "register", "blank", "input", "output", "target",  "src",     "tgt",
    "num",    "max",     "min",     "single",  "each",    "one",      "by",     "sos",     "boi",     "eoi",
    "placeholder", "chat", "assistant", "role", "learnable", "of",   "initializer", "speech", "time",
    "query",  "object",  "patch",   "draft",   "speculative", "skip", "ignore", "n",       "total",   NULL};
/* Before `key`. */
static const char *const keyed[] = {
    "api",     "access",  "secret",  "private", "account",   "auth",    "license", "encryption", "signing", "session",
    "service", "storage", "deploy",  "wandb",   "hf",        "openai",  "comet",   "neptune",    "anthropic", "admin",
    "master",  "ssh",     "azure",   "aws",     "gcp",       "gcs",     "s3",      "shared",     "sas",     "clearml",
    "mlflow",  "gpg",     "pgp",     "rsa",     "crypt",     "subscription",       NULL};
/* Before `pass`: whose it is. A model has passes, too. */
static const char *const owners[] = {"db",   "user",  "ftp", "http",  "smtp",  "mysql", "pg",    "postgres", "redis",
                                     "sudo", "ssh",   "proxy", "mongo", "admin", "root", "vault", "rabbitmq", "login",
                                     "key",  "store", "basic", NULL};
static const char *const hashes[] = {"revision", "rev",  "commit", "sha",  "sha1", "sha256",      "hash", "githash",
                                     "checksum", "digest", "ref",  "md5",  "version", "tag",      "etag", "fingerprint",
                                     "uuid",     NULL};
static const char *const query_keys[] = {"sig", "signature", "key", "code", "sas", "jwt", "credential", NULL};

static bool has_any(const struct name_words *name, const char *const *list) {
  for (size_t i = 0; i < name->count; i++)
    if (is_in(list, name->words[i])) return true;
  return false;
}

static bool contains_any(const struct name_words *name, const char *const *parts) {
  for (size_t i = 0; i < name->count; i++)
    for (const char *const *part = parts; *part; part++)
      if (strstr(name->words[i], *part)) return true;
  return false;
}

enum name_kind secret_name_kind(const char *text, size_t length, bool is_in_query) {
  static const char *const passwords[] = {"password", "passwd", "passphrase", "passcode", NULL};
  static const char *const secrets[] = {"secret", "credential", NULL};
  static const char *const keys[] = {"apikey",   "authtoken", "accesstoken", "accesskey", "privatekey",
                                     "apitoken", "webhook",   "hftoken",     NULL};
  static const char *const tokens[] = {"token", "pat", "auth", "authorization", "bearer", "jwt", "cookie", "sas",
                                       "psk",   NULL};
  struct name_words name = {.count = 0};
  split_name(&name, text, length);
  if (!name.count) return NAME_OF_ANYTHING;
  const char *last = name.words[name.count - 1], *before = name.count > 1 ? name.words[name.count - 2] : "";
  if (is_in_query && is_in(query_keys, last)) return NAME_OF_PASSWORD;
  if (is_in(describing, last)) return has_any(&name, hashes) ? NAME_OF_HASH : NAME_OF_ANYTHING;
  if (contains_any(&name, passwords)) return NAME_OF_PASSWORD;
  if (contains_any(&name, secrets)) return NAME_OF_PASSWORD;
  if (contains_any(&name, keys)) return NAME_OF_KEY;
  if (strcmp(last, "key") == 0 && is_in(keyed, before)) return NAME_OF_KEY;
  if (strcmp(last, "pwd") == 0) return NAME_OF_KEY; /* or a directory */
  if (strcmp(last, "pass") == 0 && is_in(owners, before)) return NAME_OF_PASSWORD;
  if (strcmp(last, "pass") == 0 && name.count == 1) return NAME_OF_TOKEN; /* or how many */
  if (is_in(tokens, last) && !is_in(vocabulary, before)) return NAME_OF_TOKEN;
  if (strcmp(last, "tokens") == 0 && (is_in(keyed, before) || strcmp(before, "bearer") == 0)) return NAME_OF_TOKEN;
  return has_any(&name, hashes) ? NAME_OF_HASH : NAME_OF_ANYTHING;
}

static bool is_value_path(const char *value, size_t length) {
  if (length > 1 && value[0] == '~' && value[1] == '/') return true;
  if (length > 1 && value[0] == '.' && (value[1] == '/' || value[1] == '.')) return true;
  return length > 1 && value[0] == '/' && memchr(value + 1, '/', length - 1) && !memchr(value, '+', length) &&
         !memchr(value, '=', length);
}

static bool is_value_number(const char *value, size_t length) {
  for (size_t i = 0; i < length; i++)
    if (!isdigit((unsigned char)value[i]) && !strchr(".-+eE_", value[i])) return false;
  return true;
}

bool secret_value_is_harmless(enum name_kind kind, const char *value, size_t length) {
  static const char *const words[] = {"",     "true", "false",   "none",   "null",     "yes", "no", "on", "off",
                                      "auto", "0",    "default", "prompt", "required", "1",   NULL};
  char word[16];
  if (kind < NAME_OF_TOKEN) return true;
  if (length < sizeof word) {
    memcpy(word, value, length);
    word[length] = '\0';
    for (const char *const *known = words; *known; known++)
      if (strcasecmp(*known, word) == 0) return true;
  }
  /* A variable of the shell, or of a template. */
  if (value[0] == '$' || (length > 1 && value[0] == '{' && (value[1] == '{' || value[1] == '}'))) return true;
  if (kind == NAME_OF_PASSWORD) return false;
  if (is_value_path(value, length)) return true;
  if (kind == NAME_OF_KEY) return false;
  bool is_bracketed = (value[0] == '<' && value[length - 1] == '>') || (value[0] == '[' && value[length - 1] == ']');
  return is_bracketed || is_value_number(value, length) || memchr(value, '*', length);
}
