/* nvtx_abi.h: what a program that was built with NVTX version 3 hands to the library that its header loads: numbers and
** layouts, as the header's ABI has them, which never change (test_nvtx.py compares them with NVIDIA's own headers).
*/
#ifndef TFPROF_CAPTURE_NVTX_ABI_H
#define TFPROF_CAPTURE_NVTX_ABI_H

#include <stddef.h>
#include <stdint.h>

/* ---- What the header offers: tables, and in the first of them places for functions, by module. */

enum { NVTX_TABLE_CALLBACKS = 1 };
typedef const void *(*nvtx_get_export_table)(uint32_t table);

typedef void (*nvtx_function)(void);
struct nvtx_callback_table {
  size_t size;
  /* `functions`: places of function pointers, by number; 0: there is no such module. */
  int (*get_module)(int module, nvtx_function ***functions, unsigned *count);
};

enum nvtx_module {
  NVTX_MODULE_CORE = 1,
  NVTX_MODULE_CUDA = 2,
  NVTX_MODULE_OPENCL = 3,
  NVTX_MODULE_CUDART = 4,
  NVTX_MODULE_CORE2 = 5,
  NVTX_MODULE_SYNC = 6,
};

enum nvtx_core {
  NVTX_MARK_EX = 1,
  NVTX_MARK_A,
  NVTX_MARK_W,
  NVTX_RANGE_START_EX,
  NVTX_RANGE_START_A,
  NVTX_RANGE_START_W,
  NVTX_RANGE_END,
  NVTX_RANGE_PUSH_EX,
  NVTX_RANGE_PUSH_A,
  NVTX_RANGE_PUSH_W,
  NVTX_RANGE_POP,
  NVTX_NAME_CATEGORY_A,
  NVTX_NAME_CATEGORY_W,
  NVTX_NAME_OS_THREAD_A,
  NVTX_NAME_OS_THREAD_W,
};

enum nvtx_core2 {
  NVTX_DOMAIN_MARK_EX = 1,
  NVTX_DOMAIN_RANGE_START_EX,
  NVTX_DOMAIN_RANGE_END,
  NVTX_DOMAIN_RANGE_PUSH_EX,
  NVTX_DOMAIN_RANGE_POP,
  NVTX_DOMAIN_RESOURCE_CREATE,
  NVTX_DOMAIN_RESOURCE_DESTROY,
  NVTX_DOMAIN_NAME_CATEGORY_A,
  NVTX_DOMAIN_NAME_CATEGORY_W,
  NVTX_DOMAIN_REGISTER_STRING_A,
  NVTX_DOMAIN_REGISTER_STRING_W,
  NVTX_DOMAIN_CREATE_A,
  NVTX_DOMAIN_CREATE_W,
  NVTX_DOMAIN_DESTROY,
  NVTX_INITIALIZE,
};

/* Each A, and behind it W. */
enum nvtx_cuda { NVTX_NAME_CU_DEVICE = 1, NVTX_NAME_CU_CONTEXT = 3, NVTX_NAME_CU_STREAM = 5, NVTX_NAME_CU_EVENT = 7 };
enum nvtx_cudart { NVTX_NAME_CUDA_DEVICE = 1, NVTX_NAME_CUDA_STREAM = 3, NVTX_NAME_CUDA_EVENT = 5 };

enum nvtx_sync {
  NVTX_SYNC_CREATE = 1,
  NVTX_SYNC_DESTROY,
  NVTX_SYNC_ACQUIRE_START,
  NVTX_SYNC_ACQUIRE_FAILED,
  NVTX_SYNC_ACQUIRE_SUCCESS,
  NVTX_SYNC_RELEASING,
};

/* ---- Arguments. */

enum { NVTX_MESSAGE_ASCII = 1, NVTX_MESSAGE_WIDE = 2, NVTX_MESSAGE_REGISTERED = 3 };
enum { NVTX_COLOR_KNOWN = 1 };
enum nvtx_value {
  NVTX_VALUE_NONE,
  NVTX_VALUE_UINT64,
  NVTX_VALUE_INT64,
  NVTX_VALUE_DOUBLE,
  NVTX_VALUE_UINT32,
  NVTX_VALUE_INT32,
  NVTX_VALUE_FLOAT,
};
#define NVTX_VALUE_EXTENDED ((int32_t)0xdfbd0009) /* value: of nvtx_payload_data, `extended_count` of them */
#define NVTX_NOT_TRACKED (-2)                     /* what push and pop return then */

struct nvtx_attributes {
  uint16_t version, size; /* size: so much of it is there */
  uint32_t category;
  int32_t color_type;
  uint32_t color;
  int32_t value_type;
  int32_t extended_count;
  uint64_t value;
  int32_t message_type;
  const void *message; /* text, or what registering one returned */
};
_Static_assert(sizeof(struct nvtx_attributes) == 48 && offsetof(struct nvtx_attributes, message) == 40, "NVTX 3");

struct nvtx_resource {
  uint16_t version, size;
  int32_t type; /* the class above 16 bits of an index */
  uint64_t identifier;
  int32_t message_type;
  const void *message;
};
_Static_assert(sizeof(struct nvtx_resource) == 32 && offsetof(struct nvtx_resource, message) == 24, "NVTX 3");

enum nvtx_resource_type {
  NVTX_RESOURCE_THREAD = 0x10003,
  NVTX_RESOURCE_CU_DEVICE = 0x40001,
  NVTX_RESOURCE_CU_CONTEXT = 0x40002,
  NVTX_RESOURCE_CU_STREAM = 0x40003,
  NVTX_RESOURCE_CU_EVENT = 0x40004,
  NVTX_RESOURCE_CUDA_DEVICE = 0x50000,
  NVTX_RESOURCE_CUDA_STREAM = 0x50001,
  NVTX_RESOURCE_CUDA_EVENT = 0x50002,
};

struct nvtx_sync_attributes {
  uint16_t version, size;
  int32_t message_type;
  const void *message;
};
_Static_assert(sizeof(struct nvtx_sync_attributes) == 16, "NVTX 3");

/* ---- Extensions: InitializeInjectionNvtxExtension is called with one of these for each. */

struct nvtx_segment {
  size_t number, count;
  intptr_t *functions;
};
struct nvtx_extension {
  uint16_t version, size, module, compatible;
  size_t segment_count;
  struct nvtx_segment *segments;
  intptr_t (*get_function)(uint32_t number);
  const void *information; /* of payloads: struct nvtx_type_size by type, of which the first says how many */
};
_Static_assert(sizeof(struct nvtx_extension) == 40 && sizeof(struct nvtx_segment) == 24, "NVTX 3");

enum { NVTX_EXTENSION_PAYLOAD = 2 };
enum nvtx_payload_function {
  NVTX_SCHEMA_REGISTER,
  NVTX_ENUM_REGISTER,
  NVTX_MARK_PAYLOAD,
  NVTX_RANGE_PUSH_PAYLOAD,
  NVTX_RANGE_POP_PAYLOAD,
  NVTX_RANGE_START_PAYLOAD,
  NVTX_RANGE_END_PAYLOAD,
  NVTX_DOMAIN_IS_ENABLED,
  NVTX_TIMESTAMP_GET,
};

struct nvtx_payload_data {
  uint64_t schema;
  size_t size; /* SIZE_MAX: of text up to its NUL */
  const void *bytes;
};

struct nvtx_schema_entry {
  uint64_t flags, type;
  const char *name, *description;
  uint64_t detail; /* length of a text or an array, or which entry has it */
  uint64_t offset; /* 0 but for the first entry: behind the one before */
  const void *semantics, *reserved;
};
_Static_assert(sizeof(struct nvtx_schema_entry) == 64, "NVTX 3");

enum {
  NVTX_ENTRY_POINTER = 1 << 1,
  NVTX_ENTRY_FROM_BASE = 1 << 2,
  NVTX_ENTRY_FROM_HERE = 1 << 3,
  NVTX_ENTRY_ARRAY = 7 << 4,
  NVTX_ENTRY_ARRAY_FIXED = 1 << 4,
  NVTX_ENTRY_ARRAY_TERMINATED = 2 << 4,
  NVTX_ENTRY_ARRAY_LENGTH = 3 << 4,
  NVTX_ENTRY_DEEP_COPY = 1 << 8,
  NVTX_ENTRY_HIDE = 1 << 9,
  NVTX_ENTRY_MESSAGE = 1 << 10,
};

struct nvtx_schema {
  uint64_t fields; /* a bit for each of those behind it that count, from 1 << 1 on */
  const char *name;
  uint64_t type, flags;
  const struct nvtx_schema_entry *entries;
  size_t entry_count, static_size, alignment;
  uint64_t id; /* 0: to be given */
  void *extension;
};
_Static_assert(sizeof(struct nvtx_schema) == 80, "NVTX 3");
enum {
  NVTX_SCHEMA_HAS_TYPE = 1 << 2,
  NVTX_SCHEMA_HAS_ENTRIES = 1 << 4,
  NVTX_SCHEMA_HAS_COUNT = 1 << 5,
  NVTX_SCHEMA_HAS_SIZE = 1 << 6,
  NVTX_SCHEMA_HAS_ALIGNMENT = 1 << 7,
  NVTX_SCHEMA_HAS_ID = 1 << 8,
};
enum { NVTX_SCHEMA_STATIC = 1, NVTX_SCHEMA_DYNAMIC = 2 };

struct nvtx_enum_value {
  const char *name;
  uint64_t value;
  int8_t is_flag;
};
struct nvtx_enum {
  uint64_t fields;
  const char *name;
  const struct nvtx_enum_value *values;
  size_t value_count, size;
  uint64_t id;
  void *extension;
};
_Static_assert(sizeof(struct nvtx_enum_value) == 24 && sizeof(struct nvtx_enum) == 56, "NVTX 3");
enum {
  NVTX_ENUM_HAS_VALUES = 1 << 2,
  NVTX_ENUM_HAS_COUNT = 1 << 3,
  NVTX_ENUM_HAS_SIZE = 1 << 4,
  NVTX_ENUM_HAS_ID = 1 << 5,
};

#define NVTX_ID_STATIC ((uint64_t)1 << 24)
#define NVTX_ID_GIVEN ((uint64_t)1 << 32)

enum nvtx_type { /* of entries and payloads; from NVTX_ID_STATIC on registered schemas and enums */
  NVTX_TYPE_CHAR = 1,
  NVTX_TYPE_UCHAR,
  NVTX_TYPE_SHORT,
  NVTX_TYPE_USHORT,
  NVTX_TYPE_INT,
  NVTX_TYPE_UINT,
  NVTX_TYPE_LONG,
  NVTX_TYPE_ULONG,
  NVTX_TYPE_LONGLONG,
  NVTX_TYPE_ULONGLONG,
  NVTX_TYPE_INT8,
  NVTX_TYPE_UINT8,
  NVTX_TYPE_INT16,
  NVTX_TYPE_UINT16,
  NVTX_TYPE_INT32,
  NVTX_TYPE_UINT32,
  NVTX_TYPE_INT64,
  NVTX_TYPE_UINT64,
  NVTX_TYPE_FLOAT,
  NVTX_TYPE_DOUBLE,
  NVTX_TYPE_LONGDOUBLE,
  NVTX_TYPE_SIZE,
  NVTX_TYPE_ADDRESS,
  NVTX_TYPE_WCHAR,
  NVTX_TYPE_CHAR8,
  NVTX_TYPE_CHAR16,
  NVTX_TYPE_CHAR32,
  NVTX_TYPE_BYTE = 32,
  NVTX_TYPE_FLOAT16 = 42,
  NVTX_TYPE_FLOAT32 = 43,
  NVTX_TYPE_FLOAT64 = 44,
  NVTX_TYPE_BF16 = 50,
  NVTX_TYPE_TF32 = 52,
  NVTX_TYPE_RANGE_ID = 67,
  NVTX_TYPE_CATEGORY = 68,
  NVTX_TYPE_COLOR = 69,
  NVTX_TYPE_SCOPE = 70,
  NVTX_TYPE_PID32 = 71,
  NVTX_TYPE_PID64 = 72,
  NVTX_TYPE_TID32 = 73,
  NVTX_TYPE_TID64 = 74,
  NVTX_TYPE_TEXT = 75,
  NVTX_TYPE_UTF8 = 76,
  NVTX_TYPE_UTF16 = 77,
  NVTX_TYPE_UTF32 = 78,
  NVTX_TYPE_REGISTERED = 80,
  NVTX_TYPE_REFERENCED = 1022,
  NVTX_TYPE_RAW = 1023,
};

#endif
